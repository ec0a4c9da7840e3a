/** Memoizes a pure function of a string. A full memo starts over, so that a hit costs one lookup. */
export function memoize<V>(
  compute: (key: string) => V,
  { maxEntries, maxKeyLength }: { maxEntries: number; maxKeyLength: number },
): (key: string) => V {
  const results = new Map<string, V>()
  return (key) => {
    const known = results.get(key)
    if (known !== undefined) return known
    const result = compute(key)
    if (key.length > maxKeyLength) return result
    if (results.size >= maxEntries) results.clear()
    results.set(key, result)
    return result
  }
}
