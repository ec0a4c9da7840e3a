import type { TestContext } from 'node:test'

/**
 * Random whole numbers below a bound, the same for the same seed, which is told with the test's result. `SEED` in
 * the environment repeats a run.
 */
export function numbers(context: Pick<TestContext, 'diagnostic'>): (bound: number) => number {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  context.diagnostic(`SEED=${seed}`)
  let state = seed
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound)
  }
}
