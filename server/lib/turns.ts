import { overloaded } from './semaphore.ts'
import { settlesWithin } from './settles-within.ts'

/** Work that waits for one key; more is rejected. */
const MAX_WAITING = 100

interface Turn {
  ended: Promise<void>
  /** Resolves when the end is not known: those behind it need not wait. */
  stuck: Promise<void>
  count: number
}

/** Runs work with common keys one after another, in the order of the calls, so that none of it waits elsewhere. */
export class Turns {
  readonly #last = new Map<string, Turn>()

  /**
   * Rejects with UNAVAILABLE when the turn does not come within `timeoutMs`, too many wait for a key, or work before it
   * extends its turn; and with the reason of `signal` when that aborts the wait. The turn ends with the work, or with what
   * it passes to `extend`.
   */
  async run<T>(
    keys: readonly string[],
    { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal | undefined },
    work: (extend: (until: Promise<void>) => void) => Promise<T>,
  ): Promise<T> {
    const previous = keys.map((key) => this.#last.get(key))
    const before = previous.filter((turn) => turn !== undefined)
    if (before.some(({ count }) => count >= MAX_WAITING)) throw overloaded()
    const stuck = Promise.withResolvers<void>()
    const ends = keys.map((key, index) => {
      const { promise: ended, resolve } = Promise.withResolvers<void>()
      this.#last.set(key, { ended, stuck: stuck.promise, count: (previous[index]?.count ?? 0) + 1 })
      return () => {
        resolve()
        this.#end(key, ended)
      }
    })
    if (before.length > 0) {
      let hasCome = false
      const come = Promise.all(before.map((turn) => turn.ended))
      const comes = come.then(() => {
        hasCome = true
      })
      const { promise: aborted, resolve: abort } = Promise.withResolvers<void>()
      const onAbort = () => abort()
      signal?.addEventListener('abort', onAbort)
      await settlesWithin(timeoutMs, Promise.race([comes, aborted, ...before.map((turn) => turn.stuck)]))
      signal?.removeEventListener('abort', onAbort)
      if (!hasCome) {
        stuck.resolve()
        // Work with one of the keys only does not wait for that of the others.
        for (const [index, end] of ends.entries()) void Promise.resolve(previous[index]?.ended).then(end)
        throw signal?.aborted ? signal.reason : overloaded()
      }
    }
    let extension: Promise<void> | undefined
    try {
      return await work((until) => {
        extension = until
      })
    } finally {
      const end = () => ends.map((one) => one())
      if (extension) stuck.resolve()
      if (extension) void extension.then(end)
      else end()
    }
  }

  #end(key: string, ended: Promise<void>): void {
    const last = this.#last.get(key)!
    if (last.ended === ended) this.#last.delete(key)
    else last.count--
  }
}
