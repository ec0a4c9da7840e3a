import type { RequestHeaders } from '../../net/http-handler.ts'
import { readHttpDate } from './http-date.ts'

/** Validators of a representation. */
interface Validators {
  /** A strong etag with its quotes. */
  etag: string
  /** Milliseconds, whole seconds. */
  modified: number
}

/**
 * The response to a conditional GET or HEAD in place of 200 (RFC 9110, 13.2.2, steps 1 to 4): a header with
 * entity tags takes precedence over one with a date, and a failed precondition over a cached copy.
 */
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

/**
 * Whether a Range header applies (RFC 9110, 13.1.5): the client's partial copy is of this representation.
 * `dated`: whether the date identifies the representation; a file and its encodings share one date.
 */
export function ifRangeMatches(ifRange: string | undefined, file: Validators, dated: boolean): boolean {
  if (ifRange === undefined || ifRange === file.etag) return true
  return dated && readHttpDate(ifRange) === file.modified
}

function parseDate(header: string | undefined): number | undefined {
  return header === undefined ? undefined : readHttpDate(header)
}

/**
 * Whether a list of entity tags, or `*`, matches this one (RFC 9110, 8.8.3.2 defines strong and weak
 * comparison).
 */
function matchesEtag(header: string, etag: string, comparison: 'strong' | 'weak'): boolean {
  if (header === etag || header.trim() === '*') return true
  for (const [tag, weak] of header.matchAll(/(W\/)?"[!#-~\u0080-\u00ff]*"/g)) {
    if (weak === undefined ? tag === etag : comparison === 'weak' && tag.slice(2) === etag) return true
  }
  return false
}
