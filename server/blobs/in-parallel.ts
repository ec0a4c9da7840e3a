/**
 * Runs `work` for every item, at most `limit` at a time. Rejects with the first error once nothing
 * runs any more, so that nothing goes on behind the caller's back.
 */
export async function inParallel<T>(
  limit: number,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0
  let failed = false
  const lane = async () => {
    while (next < items.length && !failed) {
      try {
        await work(items[next++]!)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  const lanes = await Promise.allSettled(Array.from({ length: Math.min(limit, items.length) }, lane))
  const broken = lanes.find((result) => result.status === 'rejected')
  if (broken) throw broken.reason
}
