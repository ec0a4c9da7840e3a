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

/** The Levenshtein distance of two words. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1]
    for (const [j, wanted] of [...other].entries()) {
      next.push(Math.min(next[j]! + 1, row[j + 1]! + 1, row[j]! + (letter === wanted ? 0 : 1)))
    }
    row = next
  }
  return row.at(-1)!
}
