import type { Encoding } from '../encoding.ts'
import type { Asked, VisitHeaders } from './asked.ts'
import { precondition } from './conditional.ts'
import { MALFORMED, NO_ASSET, NO_PAGE, PRECONDITION_FAILED } from './pages.ts'
import { resolve } from './resolve.ts'
import type { FolderRedirect, ServedFile, Table } from './table.ts'

/** Bytes that are kept among the blobs. */
export interface Content {
  /** The file they are of, for the log. */
  path: string
  /** Of the blob, as published. */
  hash: string
  /** Bytes of the whole blob, or of its encoding. */
  size: number
  /** The encoding that is kept beside the blob; absent for its own bytes. */
  encoding?: Encoding
  /** The part that is wanted, both ends included. */
  range?: { start: number; end: number }
}

/**
 * A whole answer, but for bytes that are still to be fetched. It never changes, and what can be known ahead is the same
 * object each time: a lane may remember what it made of one.
 */
export interface Answer {
  readonly status: number
  /** Header lines, name before value, with `Content-Length`; without what belongs to the connection, and without `Date`. */
  readonly headers: readonly string[]
  /** The body, when it is in memory anyway. */
  readonly body?: Buffer
  /** The bytes that are the body. */
  readonly content?: Content
}

/** What a GET gets at `now`, milliseconds since 1970; a HEAD gets the same without the body. Pure. */
export function answerTo(table: Table, { target, headers }: Asked, _now: number): Answer {
  const outcome = resolve(table, target.path)
  if (outcome.kind === 'file') return fileAnswer(outcome, headers)
  if (outcome.kind === 'redirect') return redirectAnswer(outcome, target.query)
  if (outcome.kind === 'malformed') return MALFORMED
  return outcome.page ?? (outcome.asset ? NO_ASSET : NO_PAGE)
}

function fileAnswer(file: ServedFile, headers: VisitHeaders): Answer {
  const status = precondition(headers, file)
  if (status === 304) return file.notModified
  return status === 200 ? file.ok : PRECONDITION_FAILED
}

/** Permanent, as at every web server; the query goes along. */
function redirectAnswer({ location, answer }: FolderRedirect, query: string): Answer {
  if (query === '') return answer
  return { ...answer, headers: ['Location', location + query, ...answer.headers.slice(2)] }
}
