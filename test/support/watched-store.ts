import { ApiError } from '../../server/lib/errors.ts'
import { QUERY_GROUPS, type Queries } from '../../server/store/queries.ts'
import type { Store } from '../../server/store/store.ts'

/** Counts reads of a store; tests can delay reads and make the store unavailable. */
export class WatchedStore {
  reads = 0
  /** Reads without a result. */
  pending = 0
  unavailable = false
  /** Called after each read; a promise delays its result. */
  delayRead: (query: string) => Promise<unknown> | undefined = () => undefined
  /** For how long the store has not notified of changes. A busy machine makes the feed of a real one late. */
  silenceMs: () => number = () => 0
  readonly real: Store
  readonly read: Queries

  constructor(real: Store) {
    this.real = real
    this.read = this.#wrap(real.read) as Queries
  }

  get watched(): Store {
    const { real, read } = this
    return {
      read,
      patient: read,
      newest: read,
      clock: real.clock,
      write: (durability, scope, work) => {
        this.#assertAvailable()
        return real.write(durability, scope, work)
      },
      execute: (durability, ...given) => {
        this.#assertAvailable()
        return real.execute(durability, ...given)
      },
      onChange: (forget) => real.onChange(forget),
      pollChanges: () => real.pollChanges(),
      silenceMs: () => this.silenceMs(),
      readWaitMs: () => this.real.readWaitMs(),
      assertAnswering: () => this.real.assertAnswering(),
      check: () => real.check(),
      [Symbol.asyncDispose]: () => real[Symbol.asyncDispose](),
    }
  }

  #wrap(queries: Queries): unknown {
    const groups = QUERY_GROUPS.map((group) => [
      group,
      new Proxy(queries[group] as object as Record<string, (...given: unknown[]) => Promise<unknown>>, {
        get:
          (target, name: string) =>
          (...given: unknown[]) =>
            this.#forward(`${group}.${name}`, () => target[name]!(...given)),
      }),
    ])
    return Object.fromEntries(groups)
  }

  async #forward(name: string, query: () => Promise<unknown>): Promise<unknown> {
    this.reads++
    this.#assertAvailable()
    this.pending++
    try {
      const answer = await query()
      await this.delayRead(name)
      return answer
    } finally {
      this.pending--
    }
  }

  #assertAvailable(): void {
    if (this.unavailable)
      throw new ApiError('UNAVAILABLE', 'The store is unavailable', { retryAfterSeconds: 7 })
  }
}
