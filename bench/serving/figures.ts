import { median } from '../figures.ts'

/** A figure beside the table, with its minimum or maximum. */
export interface Line {
  what: string
  unit: 'ms' | 'MB' | 'times' | 'thousand/s'
  rounds: readonly number[]
  least?: number
  most?: number
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
  return markdown(['what', 'median', 'wanted', 'met', 'rounds'], rows)
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

function getLimit({ least, most, unit }: Line): string {
  if (least !== undefined) return `at least ${formatFigures(least)} ${unit}`
  return most === undefined ? '' : `at most ${formatFigures(most)} ${unit}`
}

function metBy({ least, most }: Line, value: number): string {
  if (least === undefined && most === undefined) return ''
  return yes(value >= (least ?? value) && value <= (most ?? value))
}
