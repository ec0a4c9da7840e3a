/** A line of two texts, or of one of them. */
export interface DiffLine {
  kind: 'same' | 'added' | 'removed'
  text: string
}

/** Differences that are searched for the shortest way from one text to the other; memory grows with their square. */
const MAX_DIFFERENCES = 1_000

/**
 * The lines of two texts, with the fewest added and removed ones (E. Myers, "An O(ND) Difference Algorithm and Its
 * Variations", 1986). Texts that differ in more lines than that bound are all removed and all added between their common
 * beginning and end. `pause` is awaited between steps of a few milliseconds.
 */
export async function diffLines(
  before: string,
  after: string,
  pause: () => Promise<void>,
): Promise<DiffLine[]> {
  const [old, now] = [splitLines(before), splitLines(after)]
  const shorter = Math.min(old.length, now.length)
  let start = 0
  while (start < shorter && old[start] === now[start]) start++
  let end = 0
  while (end < shorter - start && old.at(-1 - end) === now.at(-1 - end)) end++
  const middle = await shortestEdit(
    old.slice(start, old.length - end),
    now.slice(start, now.length - end),
    pause,
  )
  const same = (lines: string[]) => lines.map((text): DiffLine => ({ kind: 'same', text }))
  return [...same(old.slice(0, start)), ...middle, ...same(old.slice(old.length - end))]
}

function splitLines(text: string): string[] {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}

async function shortestEdit(old: string[], now: string[], pause: () => Promise<void>): Promise<DiffLine[]> {
  // The farthest line of `old` that is reached on diagonal k, at `middle + k`.
  const middle = MAX_DIFFERENCES + 1
  const reached = new Int32Array(2 * middle + 1)
  const steps: Int32Array[] = []
  for (let count = 0; count <= Math.min(old.length + now.length, MAX_DIFFERENCES); count++) {
    await pause()
    steps.push(reached.slice(middle - count - 1, middle + count + 2))
    for (let diagonal = -count; diagonal <= count; diagonal += 2) {
      let x = comesFromAbove(reached, middle, diagonal, count)
        ? reached[middle + diagonal + 1]!
        : reached[middle + diagonal - 1]! + 1
      while (x < old.length && x - diagonal < now.length && old[x] === now[x - diagonal]) x++
      reached[middle + diagonal] = x
      if (x >= old.length && x - diagonal >= now.length) return trace(steps, old, now)
    }
  }
  return [
    ...old.map((text): DiffLine => ({ kind: 'removed', text })),
    ...now.map((text): DiffLine => ({ kind: 'added', text })),
  ]
}

function comesFromAbove(reached: Int32Array, middle: number, diagonal: number, count: number): boolean {
  if (diagonal === -count) return true
  return diagonal !== count && reached[middle + diagonal - 1]! < reached[middle + diagonal + 1]!
}

/** The lines in their order, found from the end. */
function trace(steps: readonly Int32Array[], old: string[], now: string[]): DiffLine[] {
  const lines: DiffLine[] = []
  let [x, y] = [old.length, now.length]
  for (let count = steps.length - 1; count >= 0; count--) {
    const before = steps[count]!
    const middle = count + 1
    const isAdded = comesFromAbove(before, middle, x - y, count)
    const diagonal = x - y + (isAdded ? 1 : -1)
    const fromX = count === 0 ? 0 : before[middle + diagonal]!
    const fromY = count === 0 ? 0 : fromX - diagonal
    while (x > fromX && y > fromY) {
      lines.push({ kind: 'same', text: old[--x]! })
      y--
    }
    if (count === 0) break
    lines.push(isAdded ? { kind: 'added', text: now[--y]! } : { kind: 'removed', text: old[--x]! })
  }
  return lines.reverse()
}
