interface ShareOptions {
  lifetimeMs: number
  /** Milliseconds, never decreasing. */
  clock?: () => number
}

/** Runs `work` at most once in `lifetimeMs`: all calls in that time have the result, or the error, of the first. */
export function shareResult<T>(
  work: () => Promise<T>,
  { lifetimeMs, clock = () => performance.now() }: ShareOptions,
): () => Promise<T> {
  let shared: { result: Promise<T>; at: number } | undefined
  return () => {
    if (shared === undefined || clock() - shared.at >= lifetimeMs) shared = { result: work(), at: clock() }
    return shared.result
  }
}

/** For reads that any client can cause: at most 20 a second. */
export const READ_INTERVAL_MS = 50

/**
 * Work that many callers share: each receives the result of a run that began after its call. One run at a time, and at
 * least `intervalMs` from the beginning of one to that of the next.
 */
export class Coalesced<T> {
  readonly #work: () => Promise<T>
  readonly #intervalMs: number
  /** Ends when the next run may begin. */
  #pause: Promise<unknown> = Promise.resolve()
  #next: Promise<T> | undefined

  constructor(work: () => Promise<T>, intervalMs: number) {
    this.#work = work
    this.#intervalMs = intervalMs
  }

  run(): Promise<T> {
    this.#next ??= this.#pause.then(() => {
      this.#next = undefined
      const result = this.#work()
      const interval = this.#intervalMs
      this.#pause = Promise.allSettled([
        result,
        interval > 0 && new Promise((resolve) => setTimeout(resolve, interval)),
      ])
      return result
    })
    return this.#next
  }
}
