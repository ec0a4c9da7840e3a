import { createHash } from 'node:crypto'
import { AcmeError, type RenewalInfo } from '../../packages/acme-client/acme.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../lib/time.ts'
import type { Certificate, CertificateSummary } from '../store/tables/certificates.ts'
import { ChallengeError } from './challenge-solver.ts'

// Pure functions of a certificate, an error and the time.

/** Certificates with a shorter lifetime are renewed at half of it. */
const SHORT_LIFETIME_MS = 10 * DAY_MS

const ARI_INTERVAL_MS = 6 * HOUR_MS

const ARI_RETRY_MS = HOUR_MS

/** After consecutive failures; the last one repeats. */
const RETRY_DELAYS_MS = [MINUTE_MS, 10 * MINUTE_MS, 100 * MINUTE_MS, DAY_MS]

/** Consecutive failures that take more than 7 days. */
const MAX_CONSECUTIVE_FAILURES = 11

/** Afterwards a new order replaces a stalled one. */
const MAX_TRIES_PER_ORDER = 3

/** No Retry-After of the CA delays renewals, or requests for renewal information, longer; a limit for a name does. */
const MAX_RETRY_AFTER_MS = DAY_MS

/** The longest window of the CA's limits. */
const MAX_WAIT_MS = 7 * DAY_MS

export const NO_ORDER = { orderUrl: null, orderKey: null } as const

/** Validity of a certificate in milliseconds since 1970. */
export interface CertificateLifetime {
  /** Spreads the dates. */
  name: string
  notBefore: number
  notAfter: number
  issuedAt: number
}

interface RenewalPlan {
  renewAt: number
  informationAt: number
}

export type AnyRenewalPlan = Pick<RenewalPlan, 'renewAt'> & { informationAt: number | null }

export function firstPlan(life: CertificateLifetime, now: number): RenewalPlan {
  return {
    renewAt: defaultRenewalTime(life),
    informationAt: Math.round(now + hashFraction(life.name, 'first') * ARI_INTERVAL_MS),
  }
}

/** A deterministic moment in the window (RFC 9773, 4.2), now when that has passed; without one the default rule. */
export function planFromAri(
  life: CertificateLifetime,
  information: RenewalInfo | undefined,
  now: number,
): RenewalPlan {
  const informationAt = nextAriTime(life, information?.nextRequestAt ?? now + ARI_INTERVAL_MS, now)
  if (!information) return { renewAt: defaultRenewalTime(life), informationAt }
  const { start, end } = information
  const moment = start + hashFraction(life.name, `${start} ${end}`) * (end - start)
  const renewAt = Math.max(Math.min(moment, latestRenewal(life)), earliestRenewal(life, DAY_MS))
  return { renewAt: Math.round(renewAt), informationAt }
}

/** The earlier of the previous plan and the default rule. `error` is of the request for renewal information. */
export function planWithoutAri(
  life: CertificateLifetime,
  renewAt: number | null,
  now: number,
  error?: unknown,
): RenewalPlan {
  const rule = defaultRenewalTime(life)
  const retryAt = now + (0.5 + 0.5 * hashFraction(life.name, `${now}`)) * ARI_RETRY_MS
  return {
    renewAt: Math.min(renewAt ?? rule, rule),
    informationAt: Math.round(Math.max(retryAt, retryAfter(error, now) ?? 0)),
  }
}

export function nextDueTime({ renewAt, informationAt }: AnyRenewalPlan): number {
  return informationAt === null ? renewAt : Math.min(renewAt, informationAt)
}

/** After 1, 10 and 100 minutes, then daily; sooner before the expiry, within the CA's limit of failed validations. */
export function retryTime(failures: number, notAfter: number | null, name: string, now: number): number {
  const ordinary = RETRY_DELAYS_MS[Math.min(failures, RETRY_DELAYS_MS.length) - 1]!
  const left = (notAfter ?? 0) - now
  const delay = left > 0 ? Math.min(ordinary, Math.max(HOUR_MS, left / 8)) : ordinary
  return Math.round(now + delay * (1 + 0.1 * hashFraction(name, `${now}`)))
}

export function isStalled(tries: number): boolean {
  return tries > 0 && tries % MAX_TRIES_PER_ORDER === 0
}

/** After failures for a week, without a valid certificate. */
function isTerminal(failures: number, notAfter: number | null, now: number): boolean {
  return failures >= MAX_CONSECUTIVE_FAILURES && (notAfter ?? 0) <= now
}

type Urgency = 'first' | 'urgent' | 'relaxed'

/** `first` without a valid certificate; `urgent` below a sixth of the lifetime. */
export function toUrgency(left: number): Urgency {
  if (left <= 0) return 'first'
  return left < 1 / 6 ? 'urgent' : 'relaxed'
}

/** The remaining fraction of a lifetime, from 1 to 0. */
export function lifeLeft(notBefore: number | null, notAfter: number | null, now: number): number {
  if (notBefore === null || notAfter === null) return 0
  return Math.min(1, Math.max(0, (notAfter - now) / (notAfter - notBefore)))
}

interface RetryPlan {
  changes: Pick<Certificate, 'problem' | 'dueAt'> & Partial<Certificate>
  countsAsFailure: boolean
  /** Without names for all. */
  pause?: { until: number; names: string[] }
}

interface RetryInput {
  certificate: CertificateSummary
  now: number
  /** Consecutive failures to reach the CA before this one, of any name. */
  outages: number
  /** Whether retries may end: the owner of a custom domain can request one, those of the service's own names cannot. */
  hasOwner: boolean
}

export function nextRetry(error: unknown, { certificate, now, outages, hasOwner }: RetryInput): RetryPlan {
  const failed = { certificate, problem: formatProblem(error), now }
  if (!(error instanceof AcmeError)) return planAfterFailure({ ...failed, keepsOrder: true })
  const { kind, type = '' } = error
  const mayEnd = hasOwner && (kind === 'challenge-failed' || ['rejectedIdentifier', 'caa'].includes(type))
  switch (kind) {
    case 'unreachable': {
      // The CA is unreachable for this name only, repeatedly.
      if (outages === 0 && certificate.problem !== null)
        return pauseFor(error, planAfterFailure({ ...failed, keepsOrder: true }), now)
      // The CA may fail for this order only.
      const { problem } = failed
      const changes = { ...orderAfter(outages + 1), problem, dueAt: planSoon(certificate.name, now) }
      return pauseFor(error, { changes, countsAsFailure: false }, now)
    }
    case 'rate-limited':
      return planAfterRateLimit(error, certificate, now)
    case 'timeout':
      return planAfterFailure({ ...failed, keepsOrder: true })
    case 'challenge-failed':
      return { ...planAfterFailure({ ...failed, mayEnd }), countsAsFailure: true }
    case 'rejected':
      return planAfterFailure({ ...failed, mayEnd })
  }
}

/** A deterministic number in [0, 1), evenly distributed. */
export function hashFraction(...texts: string[]): number {
  return createHash('sha256').update(texts.join('\n')).digest().readUInt32BE() / 2 ** 32
}

/** A third of the lifetime before expiry, or half of a short lifetime, up to a thirtieth earlier to spread renewals. */
function defaultRenewalTime(life: CertificateLifetime): number {
  const length = life.notAfter - life.notBefore
  const left = length < SHORT_LIFETIME_MS ? length / 2 : length / 3
  const moment = life.notAfter - left - (length / 30) * hashFraction(life.name, `${life.notAfter}`)
  return Math.round(Math.max(moment, earliestRenewal(life, length)))
}

/** Lower bound of the interval, whatever the clock or the window: a tenth of the lifetime, at most `maxMs`. */
function earliestRenewal(life: CertificateLifetime, maxMs: number): number {
  return life.issuedAt + Math.min((life.notAfter - life.notBefore) / 10, maxMs)
}

/** Leaves enough time for an outage of days, or of hours for short lifetimes, to end before the certificate expires. */
function latestRenewal({ notBefore, notAfter }: CertificateLifetime): number {
  return notAfter - (notAfter - notBefore) / 6
}

function nextAriTime({ name }: CertificateLifetime, nextRequestAt: number, now: number): number {
  const wait = Math.max(MINUTE_MS, Math.min(nextRequestAt - now, MAX_RETRY_AFTER_MS))
  return Math.round(now + wait * (1 + 0.05 * hashFraction(name, `${now}`)))
}

/** When the CA may be contacted again after an error (RFC 9110, 10.2.3); undefined when it did not say. */
function retryAfter(error: unknown, now: number): number | undefined {
  if (!(error instanceof AcmeError && error.notBefore !== undefined)) return undefined
  return Math.min(error.notBefore, now + MAX_RETRY_AFTER_MS)
}

/** For the owner of the name. Other errors are only logged. */
function formatProblem(error: unknown): string {
  if (error instanceof AcmeError || error instanceof ChallengeError) return error.message
  return 'Internal error. The request is retried automatically.'
}

interface FailedAttempt {
  certificate: CertificateSummary
  problem: string
  now: number
  keepsOrder?: boolean
  mayEnd?: boolean
}

function planAfterFailure({
  certificate,
  problem,
  now,
  keepsOrder = false,
  mayEnd = false,
}: FailedAttempt): RetryPlan {
  const failures = certificate.failures + 1
  const order = keepsOrder ? orderAfter(failures) : NO_ORDER
  if (mayEnd && isTerminal(failures, certificate.notAfter, now)) {
    const lastProblem = `${problem.replace(/\.$/, '')}. Retries ended after a week; to retry, run: slipway domains check ${certificate.name}`
    return { changes: { ...order, failures, problem: lastProblem, dueAt: null }, countsAsFailure: false }
  }
  const dueAt = retryTime(failures, certificate.notAfter, certificate.name, now)
  return { changes: { ...order, failures, problem, dueAt }, countsAsFailure: false }
}

/** All names wait for the time that an unavailable CA named. */
function pauseFor(error: AcmeError, plan: RetryPlan, now: number): RetryPlan {
  const until = retryAfter(error, now)
  if (until === undefined) return plan
  const dueAt = Math.max(plan.changes.dueAt!, until)
  return { ...plan, changes: { ...plan.changes, dueAt }, pause: { until, names: [] } }
}

function orderAfter(tries: number): Partial<Certificate> {
  return isStalled(tries) ? NO_ORDER : {}
}

function planAfterRateLimit(error: AcmeError, certificate: CertificateSummary, now: number): RetryPlan {
  const notBefore = error.notBefore ?? now + HOUR_MS
  const until = Math.max(now + MINUTE_MS, Math.min(notBefore, now + MAX_WAIT_MS))
  const names = isAboutName(error.message, certificate.name) ? [certificate.name] : []
  return {
    changes: { problem: error.message, dueAt: until },
    countsAsFailure: false,
    pause: { until, names },
  }
}

/** Others must not wait for a limit that an owner can use up elsewhere. CAs distinguish them only in the message. */
function isAboutName(sentence: string, name: string): boolean {
  const text = sentence.toLowerCase()
  const labels = name.replace('*.', '').split('.')
  const domains = labels.slice(0, -1).map((_, index) => labels.slice(index).join('.'))
  return text.includes('exact set') || domains.some((domain) => text.includes(domain))
}

function planSoon(name: string, now: number): number {
  return Math.round(now + (3 + 2 * hashFraction(name, `${now}`)) * MINUTE_MS)
}
