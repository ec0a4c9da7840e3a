/** The nearest known name within two edits and less than half of its letters, else one that begins with the given letters. */
export function findNearest(name: string, known: string[]): string | undefined {
  const limit = Math.min(2, (name.length - 1) / 2)
  const near = known
    .map((other) => ({ other, edits: distance(name, other) }))
    .filter(({ edits }) => edits <= limit)
    .sort((one, two) => one.edits - two.edits)
  const isStart = (other: string) => name.length > 1 && other.startsWith(name)
  return near[0]?.other ?? known.find(isStart)
}

/** The edits between two words: letters added, removed, replaced or swapped with the next one (optimal string alignment). */
function distance(one: string, other: string): number {
  let before: number[] = []
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (let i = 0; i < one.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < other.length; j++) {
      const replaced = row[j]! + (one[i] === other[j] ? 0 : 1)
      const isSwapped = i > 0 && j > 0 && one[i] === other[j - 1] && one[i - 1] === other[j]
      const swapped = isSwapped ? before[j - 1]! + 1 : Number.POSITIVE_INFINITY
      next.push(Math.min(next[j]! + 1, row[j + 1]! + 1, replaced, swapped))
    }
    before = row
    row = next
  }
  return row.at(-1)!
}
