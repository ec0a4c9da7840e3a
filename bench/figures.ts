/** One line of the result: what was measured, what came out, and what was promised. */
export interface Figure {
  name: string
  value: number
  unit: 'ms' | 'MB' | 'times'
  /** The most it may be; undefined for figures that are only told. */
  target?: number
  /** All rounds, in their order. */
  rounds?: number[]
}

export interface Measurement {
  name: string
  means: string
  run(): Promise<Figure[]>
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The figure for the median of several rounds. */
export function figure(
  name: string,
  unit: Figure['unit'],
  rounds: readonly number[],
  target?: number,
): Figure {
  return {
    name,
    unit,
    value: median(rounds),
    rounds: [...rounds],
    ...(target === undefined ? {} : { target }),
  }
}

/** A table in Markdown, which reads well on a terminal too. */
export function table(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, value, unit, target, rounds }) => [
    name,
    `${shown(value)} ${unit}`,
    target === undefined ? '' : `${shown(target)} ${unit}`,
    target === undefined ? '' : value <= target ? 'yes' : 'no',
    rounds && rounds.length > 1 ? `${shown(Math.min(...rounds))} to ${shown(Math.max(...rounds))}` : '',
  ])
  const lines = [['what', 'median', 'at most', 'met', 'rounds'], ['---', '---', '---', '---', '---'], ...rows]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function shown(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(1)
}
