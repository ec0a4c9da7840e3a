import type { TestContext } from 'node:test'

/** A pseudorandom generator with the same sequence for the same seed. */
export class Random {
  readonly seed: number
  #state: number

  constructor(seed: number) {
    this.seed = seed
    this.#state = seed | 0
  }

  /** A number in [0, 1), by Mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** An integer in [0, end). */
  below(end: number): number {
    return Math.floor(this.next() * end)
  }

  /** An integer in [least, most]. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!
  }

  shuffle<T>(values: readonly T[]): T[] {
    const left = [...values]
    return Array.from(values, () => left.splice(this.below(left.length), 1)[0]!)
  }

  /** A generator with an independent sequence. */
  fork(): Random {
    return new Random(this.below(2 ** 31))
  }
}

/** A seed for `new Random`, to be printed. */
export function anySeed(): number {
  return Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
}

/** Random integers in [0, bound). The seed is printed with the test's result; `SEED` in the environment sets it. */
export function numbers(context: Pick<TestContext, 'diagnostic'>): (bound: number) => number {
  const seed = anySeed()
  context.diagnostic(`SEED=${seed}`)
  return randomBelow(seed)
}

/** Random integers in [0, bound), the same for the same seed. */
export function randomBelow(seed: number): (bound: number) => number {
  const random = new Random(seed)
  return (bound) => random.below(bound)
}
