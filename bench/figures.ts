/** A maximum or a minimum. */
export type Target = number | { atLeast: number }

/** One line of the result: the measurement, its value and its target. */
export interface Figure {
  name: string
  value: number
  unit: 'ms' | 'µs' | 'bytes' | 'kB' | 'MB' | 'times' | 'requests' | '% of a core' | 'a second' | 'a publish'
  /** Undefined for figures without one. */
  target?: Target
  /** All rounds, in order. */
  rounds?: number[]
}

/** A result with a format of its own. */
export interface Report {
  /** For the terminal and for docs/performance.md. */
  markdown: string
  /** For `--json`. */
  data: object
  /** Additional files that `--write` writes: path from the root, text. */
  pages: Record<string, string>
}

export interface RunOptions {
  /** Whether this is a trial run: fewer rounds, less content. */
  quick: boolean
  /** Whether to profile instead of measuring. */
  profile: boolean
}

export interface Measurement {
  name: string
  means: string
  /** Runs only when it is named. */
  onRequest?: true
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
  target?: Target,
): Figure {
  return {
    name,
    unit,
    value: median(rounds),
    rounds: [...rounds],
    ...(target === undefined ? {} : { target }),
  }
}

interface Comparison {
  unit: Figure['unit']
  /** What the two are measured on. */
  names: readonly [base: string, other: string]
  /** Maximum of the second to the first, for all or for each value. */
  target: number | Readonly<Record<string, number | undefined>>
}

/** For each value that is measured on two things in each round: its medians, and that of the ratios. */
export function compareEach<K extends string>(
  measured: Readonly<Record<K, string>>,
  { unit, names, target }: Comparison,
  rounds: readonly (readonly [base: Readonly<Record<K, number>>, other: Readonly<Record<K, number>>])[],
): Figure[] {
  return Object.entries<string>(measured).flatMap(([name, what]) => {
    const key = name as K
    const ratios = rounds.map(([base, other]) => other[key] / base[key])
    const limit = typeof target === 'number' ? target : target[key]
    return [
      figure(
        `${what}: ${names[0]}`,
        unit,
        rounds.map(([base]) => base[key]),
      ),
      figure(
        `${what}: ${names[1]}`,
        unit,
        rounds.map(([, other]) => other[key]),
      ),
      figure(`${what}: ${names[1]}, relative to ${names[0]}`, 'times', ratios, limit),
    ]
  })
}

/** A Markdown table that is readable on a terminal too. */
export function table(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, value, unit, target, rounds }) => [
    name,
    `${formatFigure(value)} ${unit}`,
    target === undefined ? '' : `${formatTarget(target)} ${unit}`,
    target === undefined ? '' : isMet(value, target) ? 'yes' : '**no**',
    rounds && rounds.length > 1
      ? `${formatFigure(Math.min(...rounds))} to ${formatFigure(Math.max(...rounds))}`
      : '',
  ])
  const lines = [['what', 'median', 'target', 'met', 'rounds'], ['---', '---', '---', '---', '---'], ...rows]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function formatTarget(target: Target): string {
  if (typeof target === 'number') return `at most ${formatFigure(target)}`
  return `at least ${formatFigure(target.atLeast)}`
}

function isMet(value: number, target: Target): boolean {
  return typeof target === 'number' ? value <= target : value >= target.atLeast
}

function formatFigure(value: number): string {
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2)
}
