import { setImmediate as turnOfTheLoop } from 'node:timers/promises'

const MAX_STEPS = 10_000

/** Until a step affects no item; returns their number. Other work runs in between. Bounded: a failing step ends too. */
export async function repeatUntilEmpty(step: () => Promise<number>): Promise<number> {
  let total = 0
  for (let runs = 0; runs < MAX_STEPS; runs++) {
    const done = await step()
    if (done === 0) break
    total += done
    await turnOfTheLoop()
  }
  return total
}
