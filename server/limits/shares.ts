import { busy } from './turns.ts'

/**
 * Lets so much work run at once for everybody and for each caller; more is turned away with UNAVAILABLE. Nobody waits,
 * and one who is slow on purpose leaves room for others.
 */
export class Shares {
  readonly #all: number
  readonly #each: number
  readonly #held = new Map<string, number>()
  #busy = 0

  constructor({ all, each }: { all: number; each: number }) {
    this.#all = all
    this.#each = each
  }

  async take<T>(caller: string, work: () => Promise<T>): Promise<T> {
    const held = this.#held.get(caller) ?? 0
    if (this.#busy >= this.#all || held >= this.#each) throw busy()
    this.#busy++
    this.#held.set(caller, held + 1)
    try {
      return await work()
    } finally {
      this.#busy--
      const left = this.#held.get(caller)! - 1
      if (left > 0) this.#held.set(caller, left)
      else this.#held.delete(caller)
    }
  }
}
