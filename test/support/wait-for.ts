import timers from 'node:timers/promises'

// Before a test replaces the timers.
const { setImmediate: turn, setTimeout: pause } = timers

/** Most conditions become true within the next turns of the event loop. */
const TURNS = 50

/** The first pause after them, and the longest. */
const MIN_PAUSE_MS = 1
const MAX_PAUSE_MS = 50

/**
 * Resolves when a condition holds, for what reports no event: the state of another process, or a counter. Never gives up:
 * the runner ends a group that is silent for too long, and names the test.
 */
export async function waitFor(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let count = 0; !(await holds()); count++) {
    if (count < TURNS) await turn()
    else await pause(Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * (count - TURNS + 1)))
  }
}
