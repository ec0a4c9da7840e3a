import { overloaded } from './semaphore.ts'
import { settlesWithin } from './settles-within.ts'

/** Work that waits for one key; more is rejected. */
const MAX_WAITING = 100

interface Turn {
  ended: Promise<void>
  /** Resolves when the end is not known: those behind it need not wait. */
  stuck: Promise<void>
  hasEnded: boolean
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
    const before = keys.flatMap((key) => this.#last.get(key) ?? [])
    if (before.some(({ count }) => count >= MAX_WAITING)) throw overloaded()
    const own = keys.map((key) => this.#begin(key))
    if (before.length > 0) {
      const come = Promise.all(before.map((turn) => turn.ended))
      const { promise: aborted, resolve: abort } = Promise.withResolvers<unknown>()
      signal?.addEventListener('abort', abort)
      await settlesWithin(timeoutMs, Promise.race([come, aborted, ...before.map((turn) => turn.stuck)]))
      signal?.removeEventListener('abort', abort)
      if (!before.every(({ hasEnded }) => hasEnded)) {
        // Work with one of the keys only does not wait for that of the others.
        for (const { previous, end, endAfter } of own)
          if (!previous || previous.hasEnded) end()
          else endAfter(previous.ended)
        throw signal?.aborted ? signal.reason : overloaded()
      }
    }
    let extension: Promise<void> | undefined
    try {
      return await work((until) => {
        extension = until
      })
    } finally {
      for (const { end, endAfter } of own)
        if (extension) endAfter(extension)
        else end()
    }
  }

  #begin(key: string) {
    const previous = this.#last.get(key)
    const [ended, stuck] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const count = (previous?.count ?? 0) + 1
    const turn: Turn = { ended: ended.promise, stuck: stuck.promise, hasEnded: false, count }
    this.#last.set(key, turn)
    const end = () => {
      turn.hasEnded = true
      ended.resolve()
      const last = this.#last.get(key)!
      if (last === turn) this.#last.delete(key)
      else last.count--
    }
    const endAfter = (until: Promise<void>) => {
      stuck.resolve()
      void until.then(end)
    }
    return { previous, end, endAfter }
  }
}
