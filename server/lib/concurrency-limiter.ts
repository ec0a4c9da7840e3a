import { Tally } from '../../packages/http-server/clients/tally.ts'
import { Component } from './component.ts'
import { overloaded } from './semaphore.ts'

/**
 * Work beyond a limit is rejected with UNAVAILABLE. Nothing is queued, so that a slow caller cannot block others. The last
 * `reserve` places are for what is entitled to them.
 */
export class ConcurrencyLimiter extends Component<{ total: number; perKey: number; reserve?: number }> {
  readonly #active = new Tally()

  get active(): number {
    return this.#active.total
  }

  canRun(caller: string, reserve: number = this.parts.reserve ?? 0): boolean {
    return this.active < this.parts.total - reserve && this.#active.of(caller) < this.parts.perKey
  }

  /** `isEntitled` is asked when only places of the reserve are free. */
  async run<T>(
    caller: string,
    work: () => Promise<T>,
    isEntitled?: () => Promise<boolean> | boolean,
  ): Promise<T> {
    if (!this.canRun(caller)) {
      const mayTry = isEntitled !== undefined && this.canRun(caller, 0)
      if (!mayTry || !(await isEntitled()) || !this.canRun(caller, 0)) throw overloaded()
    }
    this.#active.add(caller, 1)
    try {
      return await work()
    } finally {
      this.#active.add(caller, -1)
    }
  }
}

/** A semaphore of whose places, and of those of its queue, one caller has a quarter. */
export class SharedSemaphore {
  readonly #running: ConcurrencyLimiter
  readonly #admitted: ConcurrencyLimiter
  #ended = Promise.withResolvers<void>()

  constructor({ running, waiting }: { running: number; waiting: number }) {
    const total = running + waiting
    this.#running = new ConcurrencyLimiter({ total: running, perKey: Math.ceil(running / 4) })
    this.#admitted = new ConcurrencyLimiter({ total, perKey: Math.ceil(total / 4) })
  }

  run<T>(caller: string, work: () => Promise<T>): Promise<T> {
    return this.#admitted.run(caller, async () => {
      // All continue in their order, and those without a place wait again.
      while (!this.#running.canRun(caller)) await this.#ended.promise
      return this.#running.run(caller, work).finally(() => {
        this.#ended.resolve()
        this.#ended = Promise.withResolvers()
      })
    })
  }
}
