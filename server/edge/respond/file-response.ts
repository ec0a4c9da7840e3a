import type { HttpRequest, RequestHeaders } from '../../../packages/http-server/http-handler.ts'
import type { EdgeResponse } from '../response.ts'
import { evaluatePreconditions, ifRangeMatches } from './conditional.ts'
import { DEFAULT_PAGES } from './pages/error-pages.ts'
import { parseRange } from './ranges.ts'
import type { Representation } from './served-file.ts'

/** `Range` is defined for GET only (RFC 9110, 14.2): a HEAD is answered as if it had none. */
export function fileResponse(
  file: Representation,
  { headers, isHead }: Pick<HttpRequest, 'headers' | 'isHead'>,
): EdgeResponse {
  const response = conditionalResponse(file, headers)
  const { range } = headers
  if (range === undefined || isHead || response !== file.ok || !file.hasRanges) return response
  if (!ifRangeMatches(headers['if-range'], file, file.isDated)) return response
  const part = parseRange(range, file.size)
  if (part === 'whole') return response
  return part === 'none' ? file.notSatisfiable(headers) : file.partial(part)
}

export function conditionalResponse(
  page: Pick<Representation, 'etag' | 'modified' | 'ok' | 'notModified'>,
  headers: RequestHeaders,
): EdgeResponse {
  const status = evaluatePreconditions(headers, page)
  if (status === 200) return page.ok
  return status === 304 ? page.notModified : DEFAULT_PAGES.preconditionFailed.for(headers)
}
