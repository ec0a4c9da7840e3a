import { AcmeError, type AcmeErrorKind } from './acme.ts'
import { parseRetryAfter } from './retry-after.ts'
import type { HttpResponse } from './transport.ts'

/** The parts of a problem document (RFC 9457) that are present. */
export interface AcmeProblem {
  /** Without the prefix of ACME (RFC 8555, 6.7). */
  type: string | undefined
  /** A single line of limited length. */
  detail: string
}

const PREFIX = 'urn:ietf:params:acme:error:'
const MAX_DETAIL_LENGTH = 400
const MAX_SUBPROBLEMS = 3

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Maximum wait that a CA can impose, in milliseconds. */
const MAX_RETRY_AFTER_MS = { limited: 7 * DAY_MS, other: DAY_MS }

/** Converts an error response to the operation `what` ("open an account"). */
export function toAcmeError(reply: HttpResponse, what: string, now: number): AcmeError {
  const { type, detail } = parseProblemBody(reply)
  const trouble = errorKind(reply.status, type)
  const said = detail || `status ${reply.status}`
  return new AcmeError(trouble, `The certificate authority does not ${what}: ${said}`, {
    type,
    notBefore: retryTime(reply, trouble, now),
  })
}

export function parseProblemBody({ body }: Pick<HttpResponse, 'body'>): AcmeProblem {
  try {
    return parseProblem(JSON.parse(body))
  } catch {
    return { type: undefined, detail: '' }
  }
}

/** Parses the `error` of a challenge or an order. */
export function parseProblem(value: unknown): AcmeProblem {
  if (typeof value !== 'object' || value === null) return { type: undefined, detail: '' }
  const { type, detail, subproblems } = value as Record<string, unknown>
  const parts = Array.isArray(subproblems) ? subproblems.slice(0, MAX_SUBPROBLEMS).map(formatSubproblem) : []
  const text = [typeof detail === 'string' ? detail : '', ...parts].filter((part) => part !== '').join('; ')
  return {
    type:
      typeof type === 'string' && type.startsWith(PREFIX) ? oneLine(type.slice(PREFIX.length)) : undefined,
    detail: oneLine(text),
  }
}

function formatSubproblem(value: unknown): string {
  const { identifier, detail } = (value ?? {}) as { identifier?: { value?: unknown }; detail?: unknown }
  if (typeof detail !== 'string') return ''
  return typeof identifier?.value === 'string' ? `${identifier.value}: ${detail}` : detail
}

/** Converts external text to a single short line for logs and pages. */
export function oneLine(text: string): string {
  return text
    .slice(0, MAX_DETAIL_LENGTH)
    .replaceAll(/[\s\p{C}]+/gu, ' ')
    .trim()
}

export function errorKind(status: number, type: string | undefined): AcmeErrorKind {
  if (status === 429 || type === 'rateLimited') return 'limited'
  if (status >= 500 || status < 400 || type === 'serverInternal' || type === 'badNonce') return 'away'
  return 'refused'
}

/** A rate limit without a time lasts an hour. */
function retryTime({ headers }: HttpResponse, trouble: AcmeErrorKind, now: number): number | undefined {
  const wait = parseRetryAfter(headers['retry-after'], now)
  if (trouble === 'limited') return now + Math.min(wait ?? HOUR_MS, MAX_RETRY_AFTER_MS.limited)
  return wait === undefined ? undefined : now + Math.min(wait, MAX_RETRY_AFTER_MS.other)
}
