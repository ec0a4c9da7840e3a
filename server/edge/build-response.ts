import type { HttpRequest } from '../../packages/http-server/http-handler.ts'
import { matchRoute, type RouteMatch } from './resolve/route.ts'
import type { RouteTable } from './resolve/route-table.ts'
import { conditionalResponse, fileResponse } from './respond/file-response.ts'
import { acceptsHtml, NAVIGATION_HEADERS } from './respond/negotiation.ts'
import { ASSET_NOT_FOUND } from './respond/pages/error-pages.ts'
import { buildRedirect } from './respond/redirect-response.ts'
import { type EdgeResponse, withHeaders } from './response.ts'

/** The response to a GET at `now`, milliseconds since 1970; a HEAD gets the same without the body. Pure. */
export function buildResponse(table: RouteTable, request: HttpRequest, now: number): EdgeResponse {
  const match = matchRoute(table, request, now)
  if (match.kind === 'malformed') return table.pages.badRequest.for(request.headers)
  const response = matchResponse(table, match, { request, now })
  const { headers, entries } = table
  if (!headers) return response
  return entries.has(request.target.path)
    ? headers.applyCached(response, request)
    : headers.apply(response, request)
}

function matchResponse(
  table: RouteTable,
  match: Exclude<RouteMatch, { kind: 'malformed' }>,
  given: { request: HttpRequest; now: number },
): EdgeResponse {
  const { request, now } = given
  const { target, headers } = request
  switch (match.kind) {
    case 'file':
      if (now < match.blockedUntil) return table.pages.fileBlocked.for(headers)
      return fileResponse(match.representation(headers['accept-encoding']), request, table.pages)
    case 'implied-redirect':
      return match.toResponse(target.query)
    case 'single-slashes':
      return buildRedirect(301, match.location + target.query, table.policy)
    case 'rule-redirect':
      return table.redirects!.toResponse(match.redirect)
    case 'page':
      if (now < match.blockedUntil) return table.pages.fileBlocked.for(headers)
      return conditionalResponse(match.for(headers), headers, table.pages)
    case 'by-request':
      return varyByNavigation(matchResponse(table, match.found, given))
    case 'missing-asset':
      return acceptsHtml(headers.accept ?? '') ? ASSET_NOT_FOUND : table.pages.pageNotFound.for(headers)
    case 'missing':
      if (!match.page || now < match.page.blockedUntil) return table.pages.pageNotFound.for(headers)
      return match.page.representation(headers['accept-encoding']).notFound
  }
}

const VARIED = new WeakMap<EdgeResponse, EdgeResponse>()

/** The response with a `Vary` that separates navigations from other requests; memoized by response. */
function varyByNavigation(response: EdgeResponse): EdgeResponse {
  const known = VARIED.get(response)
  if (known) return known
  const headers = [...response.headers]
  const at = headers.indexOf('Vary')
  if (at < 0) headers.push('Vary', NAVIGATION_HEADERS)
  else headers[at + 1] += `, ${NAVIGATION_HEADERS}`
  const varied = withHeaders(response, headers)
  VARIED.set(response, varied)
  return varied
}
