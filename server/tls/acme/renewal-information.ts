import type { Log } from '../../log.ts'
import type { RenewalInformation } from './acme.ts'
import { type Json, objectOf } from './json.ts'
import { oneLine } from './problem.ts'
import { retryAfter } from './retry-after.ts'
import type { Reply } from './transport.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** When to ask again (RFC 9773, 4.3), in milliseconds. */
const SOONEST = MINUTE
const LATEST = 6 * HOUR

/** Nothing was to be renewed before, and nothing lasts longer. */
const EARLIEST = Date.UTC(2015)
const LONGEST_LIFE = 10 * 366 * 24 * HOUR

/** What a CA suggests (RFC 9773, 4.2); undefined when that makes no sense. */
export function readRenewalInformation(
  reply: Reply,
  { now, log }: { now: number; log: Log },
): RenewalInformation | undefined {
  const object = objectOf(reply)
  const window = (object.suggestedWindow ?? {}) as Json
  const [start, end] = [timeOf(window.start), timeOf(window.end)]
  if (!(start >= EARLIEST && start < end && end < now + LONGEST_LIFE)) {
    const said = oneLine(JSON.stringify(object))
    log.warn('what the certificate authority says about renewal makes no sense', { url: reply.url, said })
    return undefined
  }
  const wait = retryAfter(reply.headers['retry-after'], now) ?? LATEST
  const explanation = explanationOf(object)
  return {
    start,
    end,
    ...(explanation === undefined ? {} : { explanation }),
    askAgainAt: now + Math.min(Math.max(wait, SOONEST), LATEST),
  }
}

/** RFC 3339 only: `Date.parse` takes much else. */
function timeOf(value: unknown): number {
  const form = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/
  return typeof value === 'string' && form.test(value) ? Date.parse(value.toUpperCase()) : Number.NaN
}

function explanationOf({ explanationURL: url }: Json): string | undefined {
  return typeof url === 'string' && /^https?:\/\/\S{1,380}$/.test(url) ? oneLine(url) : undefined
}
