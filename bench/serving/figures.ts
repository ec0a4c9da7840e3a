import { median } from '../figures.ts'

/** A figure beside the table, with its minimum or maximum. */
export interface Line {
  what: string
  unit: 'ms' | 'MB' | 'times' | 'thousand/s'
  rounds: readonly number[]
  min?: number
  max?: number
}

export function lineTable(lines: readonly Line[]): string {
  const rows = lines.map((line) => {
    const value = median(line.rounds)
    const spread = `${formatFigures(Math.min(...line.rounds))} to ${formatFigures(Math.max(...line.rounds))}`
    return [
      line.what,
      `${formatFigures(value)} ${line.unit}`,
      getLimit(line),
      metBy(line, value),
      line.rounds.length > 1 ? spread : '',
    ]
  })
  return markdown(['what', 'median', 'target', 'met', 'rounds'], rows)
}

export function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** Three significant digits. */
export function formatFigures(value: number): string {
  const size = Math.abs(value)
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2)
}

export function yes(met: boolean): string {
  return met ? 'yes' : '**no**'
}

function getLimit({ min, max, unit }: Line): string {
  if (min !== undefined) return `at least ${formatFigures(min)} ${unit}`
  return max === undefined ? '' : `at most ${formatFigures(max)} ${unit}`
}

function metBy({ min, max }: Line, value: number): string {
  if (min === undefined && max === undefined) return ''
  return yes(value >= (min ?? value) && value <= (max ?? value))
}
