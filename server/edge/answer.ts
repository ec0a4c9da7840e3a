import type { Encoding } from '../encodings/encoding.ts'
import type { Held } from '../memory/kept.ts'
import type { Tally } from '../visits/batch.ts'
import type { Asked, VisitHeaders } from './asked.ts'
import { isSame, precondition } from './conditional.ts'
import type { Packed } from './lanes/http2/packed-answers.ts'
import type { Wire } from './lanes/wires.ts'
import { MALFORMED, NO_ASSET, NO_PAGE, PRECONDITION_FAILED } from './pages/pages.ts'
import type { SitePage } from './pages/site-page.ts'
import { rangeIn } from './ranges.ts'
import { type Outcome, resolve } from './resolve.ts'
import type { Representation } from './served-file.ts'
import type { Table } from './table.ts'

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
 * A whole answer, but for bytes that are still to be fetched. What it says never changes, and what can be known ahead is
 * the same object each time: a lane may remember what it made of one.
 */
export interface Answer {
  readonly status: number
  /** Header lines, name before value, with `Content-Length`; without what belongs to the connection, and without `Date`. */
  readonly headers: readonly string[]
  /** The body, when it is in memory anyway. */
  readonly body?: Buffer
  /** The bytes that are the body. */
  readonly content?: Content
  /** Whether it is a page that was found: then who reads it is counted as a visitor. */
  readonly isPage?: boolean
  /** What its visits hang on. */
  tally?: Tally | undefined
  /** What the fast lane made of it. */
  wire?: Held<Wire> | undefined
  /** What the lane of HTTP/2 made of it. */
  packed?: Held<Packed> | undefined
}

/** The same with other header lines: a new answer, of which no lane knows anything. */
export function withHeaders({ status, body, content, isPage }: Answer, headers: readonly string[]): Answer {
  return { status, headers, ...(body && { body }), ...(content && { content }), ...(isPage && { isPage }) }
}

/** What a GET gets at `now`, milliseconds since 1970; a HEAD gets the same without the body. Pure. */
export function answerTo(table: Table, asked: Asked, now: number): Answer {
  const outcome = resolve(table, asked, now)
  if (outcome.kind === 'malformed') return MALFORMED
  const answer = plainAnswer(table, outcome, asked)
  const { headers, entries } = table
  if (!headers) return answer
  return entries.has(asked.target.path) ? headers.onKnown(answer, asked) : headers.on(answer, asked)
}

type Readable = Exclude<Outcome, { kind: 'malformed' }>

/** The answer before `_headers` have their say. */
function plainAnswer(table: Table, outcome: Readable, { target, headers }: Asked): Answer {
  switch (outcome.kind) {
    case 'file':
      return fileAnswer(outcome.representation(headers['accept-encoding']), headers)
    case 'redirection':
      return outcome.answer(target.query)
    case 'redirected':
      return table.redirects!.answer(outcome.by)
    case 'page':
      return conditional(outcome, headers)
    case 'no asset':
      return NO_ASSET
    case 'missing':
      return outcome.page?.representation(headers['accept-encoding']).missing ?? NO_PAGE
  }
}

function fileAnswer(file: Representation, headers: VisitHeaders): Answer {
  const answer = conditional(file, headers)
  const { range } = headers
  if (range === undefined || answer !== file.ok) return answer
  if (!isSame(headers['if-range'], file, file.encoding === undefined)) return answer
  const part = rangeIn(range, file.size)
  if (part === 'whole') return answer
  return part === 'none' ? file.notSatisfiable() : file.partial(part)
}

function conditional(page: Representation | SitePage, headers: VisitHeaders): Answer {
  const status = precondition(headers, page)
  if (status === 200) return page.ok
  return status === 304 ? page.notModified : PRECONDITION_FAILED
}
