import { setImmediate as turn } from 'node:timers/promises'

/** Maximum number of event loop turns: a hundred times what a loaded machine needs. */
const MAX_TURNS = 1_000_000

/** Checks a condition in every turn of the event loop: resolves when it holds, rejects with its source otherwise. */
export async function waitFor(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let count = 0; count < MAX_TURNS; count++) {
    if (await holds()) return
    await turn()
  }
  throw new Error(`this does not become true: ${holds}`)
}
