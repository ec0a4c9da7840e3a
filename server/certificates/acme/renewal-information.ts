import type { Log } from '../../lib/log.ts'
import type { RenewalInformation } from './acme.ts'
import { type Json, parseObject } from './json.ts'
import { oneLine } from './problem.ts'
import { parseRetryAfter } from './retry-after.ts'
import type { HttpResponse } from './transport.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Bounds of the polling interval (RFC 9773, 4.3), in milliseconds. */
const MIN_RETRY_MS = MINUTE_MS
const MAX_RETRY_MS = 6 * HOUR_MS

/** Lower and upper bounds of plausible dates. */
const MIN_TIME = Date.UTC(2015)
const MAX_LIFETIME_MS = 10 * 366 * 24 * HOUR_MS

/** Parses renewal information (RFC 9773, 4.2); undefined when it is invalid. */
export function parseRenewalInfo(
  reply: HttpResponse,
  { now, log }: { now: number; log: Log },
): RenewalInformation | undefined {
  const object = parseObject(reply)
  const window = (object.suggestedWindow ?? {}) as Json
  const [start, end] = [parseTimestamp(window.start), parseTimestamp(window.end)]
  if (!(start >= MIN_TIME && start < end && end < now + MAX_LIFETIME_MS)) {
    const said = oneLine(JSON.stringify(object))
    log.warn('certificate authority sent invalid renewal information', { url: reply.url, said })
    return undefined
  }
  const wait = parseRetryAfter(reply.headers['retry-after'], now) ?? MAX_RETRY_MS
  const explanation = parseExplanation(object)
  return {
    start,
    end,
    ...(explanation === undefined ? {} : { explanation }),
    askAgainAt: now + Math.min(Math.max(wait, MIN_RETRY_MS), MAX_RETRY_MS),
  }
}

/** Accepts RFC 3339 only: `Date.parse` accepts many other formats. */
function parseTimestamp(value: unknown): number {
  const form = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/
  return typeof value === 'string' && form.test(value) ? Date.parse(value.toUpperCase()) : Number.NaN
}

function parseExplanation({ explanationURL: url }: Json): string | undefined {
  return typeof url === 'string' && /^https?:\/\/\S{1,380}$/.test(url) ? oneLine(url) : undefined
}
