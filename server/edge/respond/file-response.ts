import type { HttpRequest, RequestHeaders } from '../../../packages/http-server/http-handler.ts'
import type { BlobSlice, EdgeResponse } from '../response.ts'
import { DEFAULT_PAGES } from './pages/error-pages.ts'
import type { Representation } from './served-file.ts'

/** `Range` is defined for GET only (RFC 9110, 14.2): a HEAD is answered as if it had none. */
export function fileResponse(
  file: Representation,
  { headers, isHead }: Pick<HttpRequest, 'headers' | 'isHead'>,
  pages = DEFAULT_PAGES,
): EdgeResponse {
  const response = conditionalResponse(file, headers, pages)
  const { range } = headers
  if (range === undefined || isHead || response !== file.ok || !file.hasRanges) return response
  // RFC 9110, 13.1.5. A date never matches: versions that go live within a second share one, as a file and its encodings do.
  if ((headers['if-range'] ?? file.etag) !== file.etag) return response
  const part = parseRange(range, file.size)
  if (part === 'whole') return response
  return part === 'none' ? file.notSatisfiable(pages.rangeNotSatisfiable.for(headers)) : file.partial(part)
}

export function conditionalResponse(
  page: Pick<Representation, 'etag' | 'modified' | 'ok' | 'notModified'>,
  headers: RequestHeaders,
  pages = DEFAULT_PAGES,
): EdgeResponse {
  const status = evaluatePreconditions(headers, page)
  if (status === 200) return page.ok
  return status === 304 ? page.notModified : pages.preconditionFailed.for(headers)
}

interface Validators {
  /** A strong etag with its quotes. */
  etag: string
  modified: number
}

/** RFC 9110, 13.2.2, steps 1 to 4: etags take precedence over dates, and a failed precondition over a cached copy. */
export function evaluatePreconditions(headers: RequestHeaders, file: Validators): 200 | 304 | 412 {
  const match = headers['if-match']
  if (match !== undefined) {
    if (!matchesEtag(match, file.etag, 'strong')) return 412
  } else {
    const since = parseDate(headers['if-unmodified-since'])
    if (since !== undefined && file.modified > since) return 412
  }
  const noneMatch = headers['if-none-match']
  if (noneMatch !== undefined) return matchesEtag(noneMatch, file.etag, 'weak') ? 304 : 200
  const since = parseDate(headers['if-modified-since'])
  return since !== undefined && file.modified <= since ? 304 : 200
}

function parseDate(header: string | undefined): number | undefined {
  return header === undefined ? undefined : readHttpDate(header)
}

/** RFC 9110, 8.8.3.2 defines strong and weak comparison. */
function matchesEtag(header: string, etag: string, comparison: 'strong' | 'weak'): boolean {
  if (header === etag || header.trim() === '*') return true
  for (const [tag, weak] of header.matchAll(/(W\/)?"[!#-~\u0080-\u00ff]*"/g)) {
    if (weak === undefined ? tag === etag : comparison === 'weak' && tag.slice(2) === etag) return true
  }
  return false
}

const MONTH_NAMES = 'Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec'
const MONTHS = MONTH_NAMES.split('|')
const DAY_PATTERN = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const LONG_DAY_PATTERN = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)'
const MONTH_PATTERN = `(?<month>${MONTH_NAMES})`
const TIME_PATTERN = '(?<hour>[01]\\d|2[0-3]):(?<minute>[0-5]\\d):(?<second>[0-5]\\d|60)'

/** RFC 9110, 5.6.7: the current format and the two obsolete ones. */
const FORMS = [
  new RegExp(`^${DAY_PATTERN}, (?<day>\\d\\d) ${MONTH_PATTERN} (?<year>\\d{4}) ${TIME_PATTERN} GMT$`),
  new RegExp(`^${LONG_DAY_PATTERN}, (?<day>\\d\\d)-${MONTH_PATTERN}-(?<year>\\d\\d) ${TIME_PATTERN} GMT$`),
  new RegExp(`^${DAY_PATTERN} ${MONTH_PATTERN} (?<day>[ \\d]\\d) ${TIME_PATTERN} (?<year>\\d{4})$`),
]

/** Milliseconds since 1970; undefined when it is invalid: such a header must be ignored. */
export function readHttpDate(text: string): number | undefined {
  for (const form of FORMS) {
    const parts = form.exec(text)?.groups
    if (parts) return toTime(parts as Record<DatePart, string>)
  }
  return undefined
}

type DatePart = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second'

function toTime({ year, month, day, hour, minute, second }: Record<DatePart, string>): number | undefined {
  const monthIndex = MONTHS.indexOf(month)
  const date = new Date(
    Date.UTC(fullYear(year), monthIndex, Number(day), Number(hour), Number(minute), Number(second)),
  )
  const midnight = Date.UTC(fullYear(year), monthIndex, Number(day))
  return new Date(midnight).getUTCDate() === Number(day) ? date.getTime() : undefined
}

/** A two-digit year more than 50 years in the future belongs to the previous century. */
function fullYear(text: string): number {
  if (text.length === 4) return Number(text)
  const now = new Date().getUTCFullYear()
  const year = now - (now % 100) + Number(text)
  return year > now + 50 ? year - 100 : year
}

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
