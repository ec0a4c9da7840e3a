import { setImmediate as turn } from 'node:timers/promises'

/** Turns of the event loop; a last resort, a hundred times what a loaded machine needs. */
const MAX_TURNS = 1_000_000

/** Resolves once this holds, while everything else goes on; rejects with the condition when it never does. */
export async function waitFor(holds: () => boolean): Promise<void> {
  for (let count = 0; count < MAX_TURNS; count++) {
    if (holds()) return
    await turn()
  }
  throw new Error(`this does not become true: ${holds}`)
}
