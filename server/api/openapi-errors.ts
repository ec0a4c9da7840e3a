import { ERROR_CODES, type ErrorBody, type ErrorCode } from '../../protocol/api/errors.schema.ts'
import { UPLOAD_PATH } from '../../protocol/api/paths.ts'
import { CLAIM_TOKEN_HEADER } from '../../protocol/api/publish.ts'
import type { Route } from './route.ts'

const ALL = Object.keys(ERROR_CODES) as ErrorCode[]

export function errorComponent(status: number): string {
  return `Error${status}`
}

/** The codes by status: those that follow from the facts of the route, and its own. */
export function routeErrors(route: Route): Map<number, ErrorCode[]> {
  const codes = new Set([...ofService(route), ...ofCaller(route), ...ofBody(route), ...(route.errors ?? [])])
  const inOrder = ALL.filter((code) => codes.has(code))
  return Map.groupBy(inOrder, (code) => ERROR_CODES[code].status)
}

/** An error that a service with default settings responds with. */
export function errorExample(code: ErrorCode): ErrorBody {
  const { status, meaning: error, hint } = ERROR_CODES[code]
  return { error, code, status, hint, docs: `https://slipway.example.net/docs/errors#${code}` }
}

/** The codes of the errors of a status, of which a response may have each. */
export function codesOf(status: number): ErrorCode[] {
  return ALL.filter((code) => ERROR_CODES[code].status === status)
}

/** Each route refuses a query that is too long. */
function ofService({ method, charge }: Route): ErrorCode[] {
  return [
    'VALIDATION_ERROR',
    'BLOCKED',
    'INTERNAL',
    'UNAVAILABLE',
    ...when(charge !== 'none', 'RATE_LIMITED'),
    ...when(method !== 'GET', 'INSUFFICIENT_STORAGE'),
  ]
}

/** Also without need of a key: on a service of a private network, for pages of other origins. */
function ofCaller({ access, method, url, headers }: Route): ErrorCode[] {
  const isChange = method !== 'GET'
  const isRefused = access !== 'public' || (isChange && !url.startsWith(UPLOAD_PATH))
  const isScoped = typeof access === 'object'
  const isOfSite = isScoped && url.includes(':slug')
  return [
    ...when(isRefused, 'UNAUTHORIZED'),
    ...when(/[:*]/.test(url) || access === 'admin', 'NOT_FOUND'),
    ...when(access === 'admin' && isChange, 'SIGN_IN_AGAIN'),
    ...when(isScoped, 'INSUFFICIENT_SCOPE'),
    ...when(isScoped && isChange && method !== 'DELETE', 'ACCOUNT_SUSPENDED'),
    ...when(isOfSite, 'SITE_EXPIRED'),
    ...when(isOfSite && isChange, 'SITE_SUSPENDED', 'OWNER_REQUIRED'),
    ...when(
      headers !== undefined && CLAIM_TOKEN_HEADER in (headers.properties as object),
      'INVALID_CLAIM_TOKEN',
    ),
  ]
}

function ofBody({ body, bytes, archives }: Route): ErrorCode[] {
  const takesBody = body !== undefined || bytes !== undefined || archives === true
  return [
    ...when(takesBody, 'REQUEST_TIMEOUT', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'),
    ...when(body !== undefined, 'INVALID_JSON'),
    ...when(bytes !== undefined, 'SIZE_MISMATCH'),
    // Until it is live, newer uploads of the site may end its version.
    ...when(archives === true, 'UPLOADS_MISSING', 'UPLOAD_EXPIRED'),
  ]
}

function when(isSo: boolean, ...codes: ErrorCode[]): ErrorCode[] {
  return isSo ? codes : []
}
