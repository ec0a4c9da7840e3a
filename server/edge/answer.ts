import type { IncomingHttpHeaders } from 'node:http'
import { precondition } from './conditional.ts'
import { MALFORMED, NO_ASSET, NO_PAGE, PRECONDITION_FAILED } from './pages.ts'
import type { Outcome } from './resolve.ts'
import type { FolderRedirect, ServedFile } from './table.ts'
import type { Target } from './target.ts'

/** A whole answer, but for the bytes of a file, which are still to be fetched. */
export interface Answer {
  status: number
  /** Header lines, name after value, ready for `writeHead`. */
  headers: readonly string[]
  body?: Buffer
  /** The file whose bytes are the body. */
  file?: ServedFile
}

/** What a GET gets for an outcome; a HEAD gets the same without the body. Pure. */
export function answerTo(outcome: Outcome, target: Target, headers: IncomingHttpHeaders): Answer {
  if (outcome.kind === 'file') return fileAnswer(outcome, headers)
  if (outcome.kind === 'redirect') return redirectAnswer(outcome, target.query)
  if (outcome.kind === 'malformed') return MALFORMED
  if (outcome.page) return { status: 404, headers: outcome.page.headers, file: outcome.page.file }
  return outcome.asset ? NO_ASSET : NO_PAGE
}

function fileAnswer(file: ServedFile, headers: IncomingHttpHeaders): Answer {
  const status = precondition(headers, file)
  if (status === 304) return { status, headers: file.notModified }
  return status === 200 ? { status, headers: file.ok, file } : PRECONDITION_FAILED
}

/** Permanent, as at every web server; the query goes along. */
function redirectAnswer({ location, headers }: FolderRedirect, query: string): Answer {
  return { status: 301, headers: ['Location', location + query, ...headers] }
}
