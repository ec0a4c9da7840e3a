import { AcmeError, type AcmeErrorKind } from './acme.ts'
import { type HttpResponse, unreachable } from './transport.ts'

export type Json = Record<string, unknown>

/** The parts of a problem document (RFC 9457) that are present. */
export interface AcmeProblem {
  /** Without the prefix of ACME (RFC 8555, 6.7). */
  type: string | undefined
  /** A single line of limited length. */
  detail: string
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const PROBLEM_PREFIX = 'urn:ietf:params:acme:error:'
const MAX_DETAIL_LENGTH = 400
const MAX_SUBPROBLEMS = 3

/** Maximum wait that a CA can impose; a rate limit without a time lasts an hour. */
const MAX_RATE_LIMIT_WAIT_MS = 7 * DAY_MS
const MAX_RETRY_AFTER_MS = DAY_MS

/** IMF-fixdate (RFC 9110, 5.6.7). */
const DATE = /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/

/** Parses a response as a JSON object; throws `AcmeError` otherwise. */
export function parseObject(response: HttpResponse): Json {
  const type = response.headers['content-type'] ?? ''
  if (!/^application\/([\w.-]+\+)?json\b/i.test(type))
    throw unreachable('returned a response that is not JSON')
  try {
    const value: unknown = JSON.parse(response.body)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json
  } catch {}
  throw unreachable('returned invalid JSON')
}

/** A string property; throws `AcmeError` when it is missing. */
export function readString(object: Json, name: string): string {
  const value = object[name]
  if (typeof value !== 'string') throw unreachable(`returned no valid ${name}`)
  return value
}

/** The `Location` of a created resource; throws `AcmeError` when it is missing. */
export function requireLocation({ headers, url: base }: HttpResponse, resource: string): string {
  const url = headers.location === undefined ? null : URL.parse(headers.location, base)
  if (url === null) throw unreachable(`returned no URL for ${resource}`)
  return url.href
}

/** Parses Retry-After (RFC 9110, 10.2.3) to milliseconds; undefined when it is missing or invalid. */
export function parseRetryAfter({ headers }: HttpResponse, now: number): number | undefined {
  const text = headers['retry-after']?.trim() ?? ''
  if (/^\d{1,10}$/.test(text)) return Number(text) * 1000
  const date = DATE.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/** Converts an error response to the operation `action` ("create an account"). */
export function toAcmeError(response: HttpResponse, action: string, now: number): AcmeError {
  const { type, detail } = parseProblemBody(response)
  const kind = errorKind(response.status, type)
  const reason = detail || `status ${response.status}`
  const wait = parseRetryAfter(response, now)
  let notBefore = wait === undefined ? undefined : now + Math.min(wait, MAX_RETRY_AFTER_MS)
  if (kind === 'rate-limited') notBefore = now + Math.min(wait ?? HOUR_MS, MAX_RATE_LIMIT_WAIT_MS)
  return new AcmeError(kind, `The certificate authority refused to ${action}: ${reason}`, { type, notBefore })
}

export function parseProblemBody({ body }: HttpResponse): AcmeProblem {
  try {
    return parseProblem(JSON.parse(body))
  } catch {
    return { type: undefined, detail: '' }
  }
}

/** Parses the `error` of a challenge or an order. */
export function parseProblem(value: unknown): AcmeProblem {
  if (typeof value !== 'object' || value === null) return { type: undefined, detail: '' }
  const { type, detail, subproblems } = value as Json
  const parts = Array.isArray(subproblems) ? subproblems.slice(0, MAX_SUBPROBLEMS).map(formatSubproblem) : []
  const text = [typeof detail === 'string' ? detail : '', ...parts].filter((part) => part !== '').join('; ')
  const isAcme = typeof type === 'string' && type.startsWith(PROBLEM_PREFIX)
  return { type: isAcme ? oneLine(type.slice(PROBLEM_PREFIX.length)) : undefined, detail: oneLine(text) }
}

function formatSubproblem(value: unknown): string {
  const { identifier, detail } = (value ?? {}) as { identifier?: { value?: unknown }; detail?: unknown }
  if (typeof detail !== 'string') return ''
  return typeof identifier?.value === 'string' ? `${identifier.value}: ${detail}` : detail
}

export function errorKind(status: number, type: string | undefined): AcmeErrorKind {
  if (status === 429 || type === 'rateLimited') return 'rate-limited'
  if (status >= 500 || status < 400 || type === 'serverInternal' || type === 'badNonce') return 'unreachable'
  return 'rejected'
}

/** Converts external text to a single short line for logs and pages. */
export function oneLine(text: string): string {
  return text
    .slice(0, MAX_DETAIL_LENGTH)
    .replaceAll(/[\s\p{C}]+/gu, ' ')
    .trim()
}
