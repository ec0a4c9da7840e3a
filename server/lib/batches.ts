/** In their order; a larger item is alone. */
export function toBatches<Item extends { size: number }>(
  items: Iterable<Item>,
  { maxBytes, maxItems = Number.POSITIVE_INFINITY }: { maxBytes: number; maxItems?: number },
): Item[][] {
  const batches: Item[][] = []
  let bytes = 0
  for (const item of items) {
    const current = batches.at(-1)
    bytes += item.size
    if (current && current.length < maxItems && bytes <= maxBytes) current.push(item)
    else {
      batches.push([item])
      bytes = item.size
    }
  }
  return batches
}
