const LINE_END = /\r\n?|\n/g

/** With line feeds only, as a text field has them. */
export function toFieldText(text: string): string {
  return text.replace(LINE_END, '\n')
}

/**
 * What was typed with the line ends of the original: those of the equal lines at its start and at its end, and in between
 * that of the first changed line.
 */
export function withLineEnds(typed: string, original: string): string {
  const ends = original.match(LINE_END) ?? []
  const [old, now] = [toFieldText(original).split('\n'), typed.split('\n')]
  const most = Math.min(old.length, now.length)
  let start = 0
  while (start < most && old[start] === now[start]) start++
  let equal = 0
  while (equal < most - start && old.at(-1 - equal) === now.at(-1 - equal)) equal++
  const usual = ends[start] ?? ends.at(-1) ?? '\n'
  const endAfter = (line: number) => {
    if (line === now.length - 1) return ''
    if (line < start) return ends[line] ?? usual
    return (line >= now.length - equal - 1 && ends[line + old.length - now.length]) || usual
  }
  return now.map((line, index) => line + endAfter(index)).join('')
}
