import { ApiError } from '../server/lib/errors.ts'
import type { Queries, Store } from '../server/store/store.ts'

/** A store whose reads are counted, and that a test can hold up or take away. */
export class WatchedStore {
  reads = 0
  away = false
  /** Called when a read has its answer; a promise holds it up, so that it arrives late. */
  holdUp: (query: string) => Promise<unknown> | undefined = () => undefined
  readonly real: Store
  readonly read: Queries

  constructor(real: Store) {
    this.real = real
    this.read = this.#watched(real.read) as Queries
  }

  get watched(): Store {
    const { real, read } = this
    return {
      read,
      write: (durability, work) => {
        this.#refuseWhenAway()
        return real.write(durability, work)
      },
      onChange: (forget) => real.onChange(forget),
      pollChanges: () => real.pollChanges(),
      check: () => real.check(),
      [Symbol.asyncDispose]: () => real[Symbol.asyncDispose](),
    }
  }

  #watched(queries: Queries): unknown {
    const groups = Object.entries(queries).map(([group, methods]) => [
      group,
      new Proxy(methods as Record<string, (...given: unknown[]) => Promise<unknown>>, {
        get:
          (target, name: string) =>
          (...given: unknown[]) =>
            this.#pass(`${group}.${name}`, () => target[name]!(...given)),
      }),
    ])
    return Object.fromEntries(groups)
  }

  async #pass(query: string, ask: () => Promise<unknown>): Promise<unknown> {
    this.reads++
    this.#refuseWhenAway()
    const answer = await ask()
    await this.holdUp(query)
    return answer
  }

  #refuseWhenAway(): void {
    if (this.away) throw new ApiError('UNAVAILABLE', 'The store is away', { retryAfterSeconds: 7 })
  }
}
