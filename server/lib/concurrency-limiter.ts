import { Component } from './component.ts'
import { overloaded } from './semaphore.ts'

/** Work beyond a limit is rejected with UNAVAILABLE. Nothing is queued, so that a slow caller cannot block others. */
export class ConcurrencyLimiter extends Component<{ total: number; perKey: number }> {
  readonly #activeByKey = new Map<string, number>()
  #active = 0

  get active(): number {
    return this.#active
  }

  canRun(caller: string): boolean {
    return this.#active < this.parts.total && (this.#activeByKey.get(caller) ?? 0) < this.parts.perKey
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
