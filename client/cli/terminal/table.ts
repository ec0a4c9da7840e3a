import { truncate } from '../../../protocol/format.ts'

const SEPARATOR = '  '

/** Headings of last columns with texts of any length, whose beginning is enough. */
const TEXT_HEADINGS = ['TITLE', 'MESSAGE']

/** Minimum width of a shortened text. */
const MIN_TEXT_WIDTH = 12

/**
 * Formats rows below a row of headings for a width, where that is possible: without as many of the columns `dispensable`
 * as necessary, in this order, and with a shortened title or message in the last column.
 */
export function fitTable(rows: string[][], dispensable: readonly string[] = []): (width: number) => string[] {
  return (width) => formatTable(fitRows(rows, width, dispensable))
}

function fitRows(rows: string[][], width: number, dispensable: readonly string[]): string[][] {
  let fitting = rows
  for (const heading of dispensable) {
    if (tableWidth(shortenTexts(fitting, MIN_TEXT_WIDTH)) <= width) break
    const at = fitting[0]!.indexOf(heading)
    if (at >= 0) fitting = fitting.map((row) => row.filter((_, index) => index !== at))
  }
  const others = tableWidth(shortenTexts(fitting, 0))
  return shortenTexts(fitting, Math.max(MIN_TEXT_WIDTH, width - others))
}

/** Rows in columns as wide as their widest cell. A text of several lines becomes one. */
export function formatTable(rows: string[][]): string[] {
  const cells = rows.map((row) => row.map((cell) => cell.replace(/\r?\n|\r/g, ' ')))
  const widths = columnWidths(cells)
  return cells.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at]!))
      .join(SEPARATOR)
      .trimEnd(),
  )
}

function columnWidths(rows: string[][]): number[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length)
  }
  return widths
}

function tableWidth(rows: string[][]): number {
  const widths = columnWidths(rows)
  return widths.reduce((sum, width) => sum + width, SEPARATOR.length * (widths.length - 1))
}

/** Only the last column, and only texts. */
function shortenTexts(rows: string[][], length: number): string[][] {
  if (!TEXT_HEADINGS.includes(rows[0]!.at(-1)!)) return rows
  return rows.map((row) => [...row.slice(0, -1), shorten(row.at(-1)!, length)])
}

function shorten(text: string, length: number): string {
  if (text.length <= length) return text
  return length === 0 ? '' : `${truncate(text, length - 1).trimEnd()}…`
}
