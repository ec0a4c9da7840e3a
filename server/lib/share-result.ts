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

/** Calls with the same first argument share the run that has not ended. */
export function shareRunning<Args extends unknown[], T>(work: Work<Args, T>): Work<Args, T> {
  return share(work, (run, forget) => run.then(forget, forget))
}

/** Calls with the same first argument share one result. A failure is not kept. */
export function shareSuccess<Args extends unknown[], T>(work: Work<Args, T>): Work<Args, T> {
  return share(work, (run, forget) => run.catch(forget))
}

type Work<Args extends unknown[], T> = (...args: Args) => Promise<T>

function share<Args extends unknown[], T>(
  work: Work<Args, T>,
  watch: (run: Promise<T>, forget: () => void) => unknown,
): Work<Args, T> {
  const shared = new Map<unknown, Promise<T>>()
  return (...args) => {
    const [key] = args
    const known = shared.get(key)
    if (known) return known
    const run = work(...args)
    shared.set(key, run)
    watch(run, () => void shared.delete(key))
    return run
  }
}

/** For reads that any client can cause: at most 20 a second. */
export const READ_INTERVAL_MS = 50

/** Each caller gets a run that began after its call; one runs at a time, at most one begins within `intervalMs`. */
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
      const ended = result.catch(() => undefined)
      this.#pause =
        interval > 0 ? Promise.all([ended, new Promise((resolve) => setTimeout(resolve, interval))]) : ended
      return result
    })
    return this.#next
  }
}
