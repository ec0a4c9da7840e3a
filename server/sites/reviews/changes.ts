import { ConcurrencyLimiter } from '../../lib/concurrency-limiter.ts'
import type { Store } from '../../store/store.ts'

/** Below the timeouts of idle connections, here and in proxies. */
const MAX_WAIT_MS = 25_000

/** Waiting requests of a process, and of one caller. */
const WAITING = { total: 1000, perKey: 30 }

/** The name under which the changes of the reviews of a site are announced to all processes. */
export function reviewChanges(slug: string): string {
  return `reviews of ${slug}`
}

/** Requests that wait for changes of reviews, in this process. */
export class ReviewChanges {
  readonly #limiter = new ConcurrencyLimiter(WAITING)
  readonly #waiting = new Map<string, Set<() => void>>()
  #hasEnded = false

  constructor({ onChange }: Pick<Store, 'onChange'>) {
    onChange((names) => {
      for (const name of names ?? [...this.#waiting.keys()]) this.#wake(name)
    })
  }

  /**
   * Resolves when `isChanged` is true, which is asked now and after each change of the site or of its reviews, and after
   * 25 seconds. UNAVAILABLE when too many requests wait.
   */
  wait(
    slug: string,
    { caller, signal, isChanged }: { caller: string; signal: AbortSignal; isChanged(): Promise<boolean> },
  ): Promise<void> {
    return this.#limiter.run(caller, async () => {
      const over = AbortSignal.any([signal, AbortSignal.timeout(MAX_WAIT_MS)])
      for (;;) {
        const next = this.#next(slug, over)
        if ((await isChanged()) || over.aborted || this.#hasEnded) return next.end()
        await next.promise
      }
    })
  }

  /** Answers all requests, so that the service can stop. */
  end(): void {
    this.#hasEnded = true
    for (const name of [...this.#waiting.keys()]) this.#wake(name)
  }

  /** Registered before the state is read, so that no change is missed between. */
  #next(slug: string, over: AbortSignal): { promise: Promise<void>; end(): void } {
    const { promise, resolve } = Promise.withResolvers<void>()
    const names = [slug, reviewChanges(slug)]
    const end = () => {
      over.removeEventListener('abort', end)
      for (const name of names) {
        const waiting = this.#waiting.get(name)
        waiting?.delete(end)
        if (waiting?.size === 0) this.#waiting.delete(name)
      }
      resolve()
    }
    over.addEventListener('abort', end)
    for (const name of names) {
      const waiting = this.#waiting.get(name) ?? new Set()
      this.#waiting.set(name, waiting.add(end))
    }
    return { promise, end }
  }

  #wake(name: string): void {
    for (const end of [...(this.#waiting.get(name) ?? [])]) end()
  }
}
