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

/** A result that brings a form of its own. */
export interface Report {
  /** For the terminal and for docs/performance.md. */
  markdown: string
  /** For `--json`. */
  data: object
  /** Further files that `--write` writes: path from the root, text. */
  pages: Record<string, string>
}

export interface RunOptions {
  /** Whether the measurement is only tried: fewer rounds, less content. */
  quick: boolean
  /** Whether to tell where the time goes instead of measuring it. */
  profile: boolean
}

export interface Measurement {
  name: string
  means: string
  /** What the machine lacks for it and how to get that; undefined when nothing. */
  missing?(): string | undefined
  run(options: RunOptions): Promise<Figure[] | Report>
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
