/** The width of a text for a reader whose terminal is unknown. */
export const DEFAULT_WIDTH = 80

/** Text in longer lines is hard to read. */
const MAX_WIDTH = 100

/** Where the last column of a line begins: columns are separated by at least two spaces. */
const LAST_COLUMN = /^.*\S {2,}(?=\S)|^ */

/** The least room for a column beside the others; otherwise it goes below them. */
const MIN_COLUMN = 24

/**
 * Breaks a line at spaces into lines of at most `width` characters. What follows begins at the last column of the line.
 * Where that is too narrow, the column goes below the others. Words are not broken.
 */
export function wrapLine(line: string, width: number): string[] {
  if (line.length <= width) return [line]
  const start = LAST_COLUMN.exec(line)![0]
  const indent = /^ */.exec(line)![0]
  const isBelow = start !== indent && width - start.length < MIN_COLUMN
  const hanging = isBelow ? `${indent}    ` : ' '.repeat(start.length)
  const lines = isBelow ? [...wrapLine(start.trimEnd(), width), ''] : [start]
  for (const word of line.slice(start.length).split(/ +/)) {
    const last = lines.at(-1)!
    if (last === '' || last === start) lines[lines.length - 1] = (last || hanging) + word
    else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(hanging + word)
  }
  return lines
}

/**
 * Fits a text into the width of a terminal, at most 100 characters. Lines of a paragraph are joined; indented lines stay
 * lines of their own. Empty lines separate paragraphs.
 */
export function wrapText(text: string, terminalWidth: number): string[] {
  const width = Math.min(terminalWidth, MAX_WIDTH)
  const lines: string[] = []
  for (const line of text.split('\n')) {
    if (/^\S/.test(line) && /^\S/.test(lines.at(-1) ?? '')) lines[lines.length - 1] += ` ${line}`
    else lines.push(line)
  }
  return lines.flatMap((line) => wrapLine(line, width))
}
