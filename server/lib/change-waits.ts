import { ConcurrencyLimiter } from './concurrency-limiter.ts'

/** Below the timeouts of idle connections, here and in proxies. */
const MAX_WAIT_MS = 25_000

/** Requests that check in one turn of the event loop. */
const MAX_WOKEN = 50

/** Waiting requests of a process, of one caller and for the first name of a call. */
export type WaitLimits = Record<'total' | 'perKey' | 'perName', number>

/** Requests that wait for changes, in this process. */
export class ChangeWaits {
  readonly #limiter: ConcurrencyLimiter
  readonly #names: ConcurrencyLimiter
  readonly #maxWaitMs: number
  readonly #waiting = new Map<() => void, readonly string[]>()
  /** Those that are to check again. */
  readonly #woken = new Set<() => void>()
  #hasEnded = false

  constructor(limits: WaitLimits, maxWaitMs = MAX_WAIT_MS) {
    this.#limiter = new ConcurrencyLimiter(limits)
    this.#names = new ConcurrencyLimiter({ total: limits.total, perKey: limits.perName })
    this.#maxWaitMs = maxWaitMs
  }

  /**
   * What `check` finds, which is called now and after each change of one of the names; undefined when the time is over.
   * UNAVAILABLE when too many requests wait.
   */
  wait<Found>(
    names: readonly string[],
    { caller, signal, check }: { caller: string; signal: AbortSignal; check(): Promise<Found | undefined> },
  ): Promise<Found | undefined> {
    const run = async () => {
      let change = Promise.withResolvers<void>()
      let isLate = false
      const end = () => {
        isLate = true
        change.resolve()
      }
      const isOver = () => isLate || signal.aborted || this.#hasEnded
      const wake = () => change.resolve()
      const timer = setTimeout(end, this.#maxWaitMs)
      signal.addEventListener('abort', end)
      this.#waiting.set(wake, names)
      try {
        for (;;) {
          // Before the check, so that no change is missed.
          change = Promise.withResolvers()
          const found = await check()
          if (found !== undefined || isOver()) return found
          await change.promise
          if (isOver()) return undefined
        }
      } finally {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        this.#waiting.delete(wake)
      }
    }
    return this.#names.run(names[0]!, () => this.#limiter.run(caller, run))
  }

  /** These names have changed; everything when undefined. Changes of one turn cause one check of a request. */
  notify(names: readonly string[] | undefined): void {
    if (this.#waiting.size === 0) return
    const changed = names && new Set(names)
    const isIdle = this.#woken.size === 0
    for (const [wake, names] of this.#waiting)
      if (!changed || names.some((name) => changed.has(name))) this.#woken.add(wake)
    if (isIdle && this.#woken.size > 0) setImmediate(this.#wakeSome)
  }

  readonly #wakeSome = () => {
    for (const wake of this.#woken.values().take(MAX_WOKEN)) {
      this.#woken.delete(wake)
      wake()
    }
    if (this.#woken.size > 0) setImmediate(this.#wakeSome)
  }

  /** Answers all waiting requests, so that the service can stop. */
  end(): void {
    this.#hasEnded = true
    this.notify(undefined)
  }
}
