import type { Content } from './answer.ts'

type Range = NonNullable<Content['range']>

/** One range and no second: empty elements of the list do not count (RFC 9110, 5.6.1.2 and 14.1.2). */
const ONE = /^bytes=[ \t,]*(?<first>\d*)-(?<last>\d*)[ \t,]*$/i

/**
 * What a Range header asks of a representation of `size` bytes (RFC 9110, 14.2): one part; `whole` when it asks for
 * several or is none, for such a header is to be ignored; `none` when there are no such bytes.
 */
export function rangeIn(header: string, size: number): Range | 'whole' | 'none' {
  const { first = '', last = '' } = ONE.exec(header)?.groups ?? {}
  if (first === '') return last === '' ? 'whole' : suffix(Number(last), size)
  if (last !== '' && Number(last) < Number(first)) return 'whole'
  if (Number(first) >= size) return 'none'
  return { start: Number(first), end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}

function suffix(length: number, size: number): Range | 'none' {
  return length === 0 ? 'none' : { start: Math.max(0, size - length), end: size - 1 }
}
