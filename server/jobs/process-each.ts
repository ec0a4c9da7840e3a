const ITEMS_PER_QUERY = 100

/** After these a run ends, because the store is probably unavailable. Fewer than a query finds, so that it finds others. */
const MAX_FAILURES = 50

/** Sums what `process` returns. An item that fails does not block those behind it: rejects at the end, with the first error. */
export async function processEach(
  items: AsyncIterable<string>,
  process: (item: string) => Promise<number>,
): Promise<number> {
  let total = 0
  const failures: unknown[] = []
  for await (const item of items) {
    try {
      total += await process(item)
    } catch (error) {
      failures.push(error)
      if (failures.length === MAX_FAILURES) break
    }
  }
  if (failures.length > 0) throw failures[0]
  return total
}

/** Each item of a query once, until it finds no others: those that are processed leave it, those that fail stay. */
export async function* listDue(find: (limit: number) => Promise<string[]>): AsyncGenerator<string> {
  const seen = new Set<string>()
  for (;;) {
    const due = new Set(await find(ITEMS_PER_QUERY)).difference(seen)
    if (due.size === 0) return
    for (const item of due) {
      seen.add(item)
      yield item
    }
  }
}
