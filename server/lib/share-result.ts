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
