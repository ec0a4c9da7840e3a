import type { TestContext } from 'node:test'

/** A pseudorandom generator: the same numbers again for the same seed. */
export class Random {
  readonly seed: number
  #state: number

  constructor(seed: number) {
    this.seed = seed
    this.#state = seed | 0
  }

  /** From 0 up to but not including 1; Mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from 0 up to but not including `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end)
  }

  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!
  }

  /** Another generator, so that two users of this one do not disturb each other's order. */
  fork(): Random {
    return new Random(this.below(2 ** 31))
  }
}

/** A seed for `new Random`, to be printed. */
export function anySeed(): number {
  return Math.floor(Math.random() * 2 ** 31)
}

/** Random whole numbers below a bound; the seed is printed with the test's result, and `SEED` in the environment repeats it. */
export function numbers(context: Pick<TestContext, 'diagnostic'>): (bound: number) => number {
  const seed = Number(process.env.SEED ?? anySeed())
  context.diagnostic(`SEED=${seed}`)
  return randomBelow(seed)
}

/** Random whole numbers below a bound, the same for the same seed. */
export function randomBelow(seed: number): (bound: number) => number {
  const random = new Random(seed)
  return (bound) => random.below(bound)
}
