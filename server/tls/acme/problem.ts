import { AcmeFailure, type AcmeTrouble } from './acme.ts'
import { retryAfter } from './retry-after.ts'
import type { Reply } from './transport.ts'

/** A problem document (RFC 9457), as far as it is one. */
export interface Problem {
  /** Without the prefix of ACME (RFC 8555, 6.7). */
  type: string | undefined
  /** One line of at most a few hundred characters. */
  detail: string
}

const PREFIX = 'urn:ietf:params:acme:error:'
const LONGEST_DETAIL = 400
const MOST_PARTS = 3

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** The longest that a CA can tell the service to stay away, in milliseconds. */
const LONGEST = { limited: 7 * DAY, other: DAY }

/** What a CA said instead of doing `what` ("open an account"). */
export function failureOf(reply: Reply, what: string, now: number): AcmeFailure {
  const { type, detail } = problemOf(reply)
  const trouble = troubleOf(reply.status, type)
  const said = detail || `status ${reply.status}`
  return new AcmeFailure(trouble, `The certificate authority does not ${what}: ${said}`, {
    type,
    notBefore: notBefore(reply, trouble, now),
  })
}

export function problemOf({ body }: Pick<Reply, 'body'>): Problem {
  try {
    return readProblem(JSON.parse(body))
  } catch {
    return { type: undefined, detail: '' }
  }
}

/** Of what a CA put into `error` of a challenge or an order. */
export function readProblem(value: unknown): Problem {
  if (typeof value !== 'object' || value === null) return { type: undefined, detail: '' }
  const { type, detail, subproblems } = value as Record<string, unknown>
  const parts = Array.isArray(subproblems) ? subproblems.slice(0, MOST_PARTS).map(partOf) : []
  const text = [typeof detail === 'string' ? detail : '', ...parts].filter((part) => part !== '').join('; ')
  return {
    type:
      typeof type === 'string' && type.startsWith(PREFIX) ? oneLine(type.slice(PREFIX.length)) : undefined,
    detail: oneLine(text),
  }
}

function partOf(value: unknown): string {
  const { identifier, detail } = (value ?? {}) as { identifier?: { value?: unknown }; detail?: unknown }
  if (typeof detail !== 'string') return ''
  return typeof identifier?.value === 'string' ? `${identifier.value}: ${detail}` : detail
}

/** What comes from outside goes into logs and pages as one short line. */
export function oneLine(text: string): string {
  return text
    .slice(0, LONGEST_DETAIL)
    .replaceAll(/[\s\p{C}]+/gu, ' ')
    .trim()
}

export function troubleOf(status: number, type: string | undefined): AcmeTrouble {
  if (status === 429 || type === 'rateLimited') return 'limited'
  if (status >= 500 || status < 400 || type === 'serverInternal' || type === 'badNonce') return 'away'
  return 'refused'
}

/** A limit without a time is an hour. */
function notBefore({ headers }: Reply, trouble: AcmeTrouble, now: number): number | undefined {
  const wait = retryAfter(headers['retry-after'], now)
  if (trouble === 'limited') return now + Math.min(wait ?? HOUR, LONGEST.limited)
  return wait === undefined ? undefined : now + Math.min(wait, LONGEST.other)
}
