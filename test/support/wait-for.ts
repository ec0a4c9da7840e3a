import timers from 'node:timers/promises'
import { LONG_SILENCE_MS, onSilence } from './silence.ts'

// Before a test replaces the timers.
const { setImmediate: turn, setTimeout: pause } = timers

/** Most conditions become true within the next turns of the event loop. */
const TURNS = 50

/** The first pause after them, and the longest. */
const MIN_PAUSE_MS = 1
const MAX_PAUSE_MS = 50

/**
 * Resolves when a condition holds, for what reports no event: the state of another process, or a counter. Gives up only
 * when the runner finds the group silent.
 */
export async function waitFor(holds: () => boolean | Promise<boolean>): Promise<void> {
  let isSilent = false
  const stopListening = onSilence((silentMs) => {
    isSilent = silentMs >= LONG_SILENCE_MS
  })
  try {
    for (let count = 0; !(await holds()); count++) {
      if (isSilent) throw new Error(`this does not become true: ${holds}`)
      if (count < TURNS) await turn()
      else await pause(Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * (count - TURNS + 1)))
    }
  } finally {
    stopListening()
  }
}
