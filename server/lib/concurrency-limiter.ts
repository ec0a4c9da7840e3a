import { Tally } from '../../packages/http-server/clients/tally.ts'
import { Component } from './component.ts'
import { overloaded, Semaphore } from './semaphore.ts'

/** Work beyond a limit is rejected with UNAVAILABLE. Nothing is queued, so that a slow caller cannot block others. */
export class ConcurrencyLimiter extends Component<{ total: number; perKey: number }> {
  readonly #active = new Tally()

  get active(): number {
    return this.#active.total
  }

  canRun(caller: string): boolean {
    return this.active < this.parts.total && this.#active.of(caller) < this.parts.perKey
  }

  async run<T>(caller: string, work: () => Promise<T>): Promise<T> {
    if (!this.canRun(caller)) throw overloaded()
    this.#active.add(caller, 1)
    try {
      return await work()
    } finally {
      this.#active.add(caller, -1)
    }
  }
}

/** A semaphore of whose places, with those of its queue, one caller has a quarter. */
export class SharedSemaphore {
  readonly #semaphore: Semaphore
  readonly #shares: ConcurrencyLimiter

  constructor({ running, waiting }: { running: number; waiting: number }) {
    const total = running + waiting
    this.#semaphore = new Semaphore({ running, waiting })
    this.#shares = new ConcurrencyLimiter({ total, perKey: Math.ceil(total / 4) })
  }

  run<T>(caller: string, work: () => Promise<T>): Promise<T> {
    return this.#shares.run(caller, () => this.#semaphore.run(work))
  }
}
