/** Runs `work` for at most `limit` items at a time. Rejects with the first error after all running work has ended. */
export async function forEachConcurrent<T>(
  limit: number,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0
  let failed = false
  const worker = async () => {
    while (next < items.length && !failed) {
      try {
        await work(items[next++]!)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  const workers = await Promise.allSettled(Array.from({ length: Math.min(limit, items.length) }, worker))
  const firstFailure = workers.find((result) => result.status === 'rejected')
  if (firstFailure) throw firstFailure.reason
}
