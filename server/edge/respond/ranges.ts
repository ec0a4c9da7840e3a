import type { BlobSlice } from '../response.ts'

type ByteRange = NonNullable<BlobSlice['range']>

/** One range: empty list elements do not count (RFC 9110, 5.6.1.2 and 14.1.2). */
const SINGLE_RANGE = /^bytes=[ \t,]*(?<first>\d*)-(?<last>\d*)[ \t,]*$/i

/** RFC 9110, 14.2: `whole` for several ranges or an invalid header, which is ignored; `none` if not satisfiable. */
export function parseRange(header: string, size: number): ByteRange | 'whole' | 'none' {
  const { first = '', last = '' } = SINGLE_RANGE.exec(header)?.groups ?? {}
  if (first === '') return last === '' ? 'whole' : suffixRange(Number(last), size)
  if (last !== '' && Number(last) < Number(first)) return 'whole'
  if (Number(first) >= size) return 'none'
  return { start: Number(first), end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}

/** The suffix of an empty representation is satisfiable, but no Content-Range can describe it. */
function suffixRange(length: number, size: number): ByteRange | 'whole' | 'none' {
  if (length === 0) return 'none'
  return size === 0 ? 'whole' : { start: Math.max(0, size - length), end: size - 1 }
}
