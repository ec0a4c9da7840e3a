import type { HttpRequest, RequestHeaders } from '../../net/http-handler.ts'
import { NAVIGATION_HEADERS } from '../resolve/navigation.ts'
import { type Match, resolve } from '../resolve/route.ts'
import type { RouteTable } from '../resolve/route-table.ts'
import { type EdgeResponse, withHeaders } from '../response.ts'
import { evaluatePreconditions, ifRangeMatches } from './conditional.ts'
import { ASSET_NOT_FOUND, BAD_REQUEST, PAGE_NOT_FOUND, PRECONDITION_FAILED } from './pages/error-pages.ts'
import type { GeneratedPage } from './pages/generated-page.ts'
import { parseRange } from './ranges.ts'
import type { Representation } from './served-file.ts'

/** The response to a GET at `now`, milliseconds since 1970; a HEAD gets the same without the body. Pure. */
export function respond(table: RouteTable, request: HttpRequest, now: number): EdgeResponse {
  const outcome = resolve(table, request, now)
  if (outcome.kind === 'malformed') return BAD_REQUEST
  const answer = baseResponse(table, outcome, request)
  const { headers, entries } = table
  if (!headers) return answer
  return entries.has(request.target.path)
    ? headers.applyCached(answer, request)
    : headers.apply(answer, request)
}

type Readable = Exclude<Match, { kind: 'malformed' }>

/** The response before `_headers` rules are applied. */
function baseResponse(table: RouteTable, outcome: Readable, request: HttpRequest): EdgeResponse {
  const { target, headers } = request
  switch (outcome.kind) {
    case 'file':
      return fileResponse(outcome.representation(headers['accept-encoding']), request)
    case 'redirection':
      return outcome.answer(target.query)
    case 'redirected':
      return table.redirects!.respond(outcome.by)
    case 'page':
      return conditionalResponse(outcome, headers)
    case 'by-request':
      return varied(baseResponse(table, outcome.found, request))
    case 'no asset':
      return ASSET_NOT_FOUND
    case 'missing':
      return outcome.page?.representation(headers['accept-encoding']).notFound ?? PAGE_NOT_FOUND
  }
}

const VARIED = new WeakMap<EdgeResponse, EdgeResponse>()

/** The response with a `Vary` that separates navigations from other requests; memoized by response. */
function varied(answer: EdgeResponse): EdgeResponse {
  const known = VARIED.get(answer)
  if (known) return known
  const headers = [...answer.headers]
  const at = headers.indexOf('Vary')
  if (at < 0) headers.push('Vary', NAVIGATION_HEADERS)
  else headers[at + 1] += `, ${NAVIGATION_HEADERS}`
  const made = withHeaders(answer, headers)
  VARIED.set(answer, made)
  return made
}

/**
 * The response to a GET or HEAD of a file, whole, conditional or partial. `Range` is defined for GET only
 * (RFC 9110, 14.2): a HEAD is answered as if it had none.
 */
export function fileResponse(
  file: Representation,
  { headers, isHead }: Pick<HttpRequest, 'headers' | 'isHead'>,
): EdgeResponse {
  const answer = conditionalResponse(file, headers)
  const { range } = headers
  if (range === undefined || isHead || answer !== file.ok) return answer
  if (!ifRangeMatches(headers['if-range'], file, file.encoding === undefined)) return answer
  const part = parseRange(range, file.size)
  if (part === 'whole') return answer
  return part === 'none' ? file.notSatisfiable() : file.partial(part)
}

function conditionalResponse(page: Representation | GeneratedPage, headers: RequestHeaders): EdgeResponse {
  const status = evaluatePreconditions(headers, page)
  if (status === 200) return page.ok
  return status === 304 ? page.notModified : PRECONDITION_FAILED
}
