/** Waits until `work` succeeds or fails, or for this time; returns whether it has ended. */
export function settlesWithin(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  const timeout = Promise.withResolvers<boolean>()
  const timer = setTimeout(timeout.resolve, milliseconds, false)
  const settled = work.then(
    () => true,
    () => true,
  )
  return Promise.race([settled, timeout.promise]).finally(() => clearTimeout(timer))
}
