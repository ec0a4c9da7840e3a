import type { VisitHeaders } from './asked.ts'
import { readHttpDate } from './http-date.ts'

/** What a representation can be told from others by. */
interface Validators {
  /** Strong, with its quotes. */
  etag: string
  /** Milliseconds, whole seconds. */
  modified: number
}

/**
 * What a conditional GET or HEAD gets where an unconditional one gets 200 (RFC 9110, 13.2.2, steps 1 to 4):
 * the header with an entity tag wins over the one with a date, and a failed match over a cached copy.
 */
export function precondition(headers: VisitHeaders, file: Validators): 200 | 304 | 412 {
  const match = headers['if-match']
  if (match !== undefined) {
    if (!lists(match, file.etag, 'strong')) return 412
  } else {
    const since = dateIn(headers['if-unmodified-since'])
    if (since !== undefined && file.modified > since) return 412
  }
  const noneMatch = headers['if-none-match']
  if (noneMatch !== undefined) return lists(noneMatch, file.etag, 'weak') ? 304 : 200
  const since = dateIn(headers['if-modified-since'])
  return since !== undefined && file.modified <= since ? 304 : 200
}

/**
 * Whether a Range header is to be heeded (RFC 9110, 13.1.5): the parts that the client has are of these bytes. `dated`
 * says whether the date can tell: a file and its encodings share one.
 */
export function isSame(ifRange: string | undefined, file: Validators, dated: boolean): boolean {
  if (ifRange === undefined || ifRange === file.etag) return true
  return dated && readHttpDate(ifRange) === file.modified
}

function dateIn(header: string | undefined): number | undefined {
  return header === undefined ? undefined : readHttpDate(header)
}

/** Whether a list of entity tags, or `*`, has this one (RFC 9110, 8.8.3.2 tells strong and weak comparison). */
function lists(header: string, etag: string, comparison: 'strong' | 'weak'): boolean {
  if (header === etag || header.trim() === '*') return true
  for (const [tag, weak] of header.matchAll(/(W\/)?"[!#-~\u0080-\u00ff]*"/g)) {
    if (weak === undefined ? tag === etag : comparison === 'weak' && tag.slice(2) === etag) return true
  }
  return false
}
