import assert from 'node:assert/strict'
import type { ErrorCode } from '../../protocol/api/errors.schema.ts'
import { ERROR_CODES } from '../../protocol/api/errors.schema.ts'
import type { ApiResponse } from './api-response.ts'
import type { Conformance } from './document.ts'

const HOUR_SECONDS = 3600

/** What no error message may contain: stack traces, files of the service, its engines. */
const INTERNALS =
  /\bat \S+ \(|node:|\.ts\b|sqlite|kysely|fastify|FST_|ajv|undefined|\[object|must match pattern/i

/** Asserts what the contract promises of every response of the API. */
export function assertInvariants(
  answer: ApiResponse,
  now: number,
  conformance: Conformance | undefined,
): void {
  const about = `${answer.method} ${answer.target.slice(0, 200)} → ${answer.status}`
  assertRateLimitHeaders(answer, now, about)
  assertOpenToAnyOrigin(answer, about)
  assert.match(answer.headers['cache-control'] ?? '', /no-store|private/, `${about} is in no shared cache`)
  if (answer.status >= 400 && answer.method !== 'HEAD') assertError(answer, about)
  if (answer.status === 429 || answer.status === 503) assertRetryAfter(answer, about)
  if (answer.status === 405) assert.match(answer.headers.allow ?? '', /^[A-Z]+(, [A-Z]+)*$/, about)
  if (conformance && answer.method !== 'HEAD') assertConforms(answer, conformance)
}

function assertRateLimitHeaders({ headers }: ApiResponse, now: number, about: string): void {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) => {
    const value = headers[`x-ratelimit-${name}`]
    assert.match(String(value), /^\d+$/, `${about} has X-RateLimit-${name}`)
    return Number(value)
  }) as [number, number, number]
  assert.ok(limit >= 1 && remaining <= limit, `${about}: ${remaining} of ${limit} remain`)
  assert.equal(reset % HOUR_SECONDS, 0, `${about}: the window ends at the top of an hour`)
  const left = reset - now / 1000
  assert.ok(left > 0 && left <= HOUR_SECONDS, `${about}: the window ends within the hour, not in ${left} s`)
}

function assertOpenToAnyOrigin({ headers }: ApiResponse, about: string): void {
  assert.equal(headers['access-control-allow-origin'], '*', `${about} is open to any origin`)
  assert.equal(headers['access-control-allow-credentials'], undefined, `${about} takes no credentials`)
}

function assertError({ target, status, headers, json, text }: ApiResponse, about: string): void {
  assert.match(headers['content-type'] ?? '', /^application\/json\b/, `${about} is JSON`)
  // Those of OAuth have the form of RFC 6749, section 5.2.
  if (target.startsWith('/oauth/') && json?.code === undefined) {
    assert.match(`${json?.error} ${json?.error_description}`, /^[a-z_]+ \S.{10,400}$/, about)
    return
  }
  assert.match(`${json?.error}`, /^\S.{10,400}$/su, `${about} has a message: ${text}`)
  assert.doesNotMatch(json.error, INTERNALS, `${about} contains nothing internal`)
  assert.equal(json.status, status, `${about} repeats its status`)
  assert.ok(json.code in ERROR_CODES, `${about} has a code of the contract: ${text}`)
  assert.equal(ERROR_CODES[json.code as ErrorCode].status, status, `${about} has the status of ${json.code}`)
  assert.match(json.hint, /^[A-Z].+\.$/, `${about} has a hint in one sentence`)
  assert.match(json.docs, new RegExp(`^https?://.+/docs/errors#${json.code}$`), `${about} links to its code`)
  if (json.code === 'VALIDATION_ERROR') assertProblems(json.details, about)
}

function assertProblems(details: { field: unknown; message: unknown }[], about: string): void {
  assert.ok(Array.isArray(details) && details.length >= 1 && details.length <= 20, `${about} has details`)
  for (const { field, message } of details) {
    assert.equal(typeof field, 'string', about)
    assert.equal(typeof message, 'string', about)
    assert.doesNotMatch(`${message}`, INTERNALS, `${about} contains nothing internal`)
  }
}

function assertRetryAfter({ headers }: ApiResponse, about: string): void {
  assert.match(headers['retry-after'] ?? '', /^[1-9]\d*$/, `${about} has Retry-After`)
}

function assertConforms(
  { method, target, status, headers, json }: ApiResponse,
  conformance: Conformance,
): void {
  const path = target.split('?', 1)[0]!
  const type = headers['content-type']
  if (json !== undefined) conformance.check(method, path, status, json)
  else if (type !== undefined) conformance.checkBytes(method, path, status, type)
}
