import { overloaded } from './semaphore.ts'

/** Work beyond a limit is rejected with UNAVAILABLE. Nothing is queued, so that a slow caller cannot block others. */
export class ConcurrencyLimiter {
  readonly #maxTotal: number
  readonly #maxPerKey: number
  readonly #activeByKey = new Map<string, number>()
  #active = 0

  constructor({ total, perKey }: { total: number; perKey: number }) {
    this.#maxTotal = total
    this.#maxPerKey = perKey
  }

  get active(): number {
    return this.#active
  }

  canRun(caller: string): boolean {
    return this.#active < this.#maxTotal && (this.#activeByKey.get(caller) ?? 0) < this.#maxPerKey
  }

  async run<T>(caller: string, work: () => Promise<T>): Promise<T> {
    if (!this.canRun(caller)) throw overloaded()
    this.#active++
    this.#activeByKey.set(caller, (this.#activeByKey.get(caller) ?? 0) + 1)
    try {
      return await work()
    } finally {
      this.#active--
      const left = this.#activeByKey.get(caller)! - 1
      if (left > 0) this.#activeByKey.set(caller, left)
      else this.#activeByKey.delete(caller)
    }
  }
}
