import { createHash } from 'node:crypto'
import type { RenewalInformation } from './acme/acme.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Certificates with a shorter lifetime are renewed at half of it. */
const SHORT_LIFETIME_MS = 10 * DAY_MS

/** Maximum interval between two requests for renewal information. */
const ARI_INTERVAL_MS = 6 * HOUR_MS

const ARI_RETRY_MS = HOUR_MS

/** Delays after consecutive failures; the last one repeats. */
const RETRY_DELAYS_MS = [MINUTE_MS, 10 * MINUTE_MS, 100 * MINUTE_MS, DAY_MS]

/** Number of consecutive failures that takes more than 7 days. */
const MAX_CONSECUTIVE_FAILURES = 11

/** Validity of a certificate in milliseconds since 1970. */
export interface CertificateLifetime {
  /** Seed that spreads its dates. */
  name: string
  notBefore: number
  notAfter: number
  /** By the clock of this service. */
  issuedAt: number
}

/** Times of the renewal and of the next request for renewal information. */
export interface RenewalPlan {
  renewAt: number
  informationAt: number
}

/** The plan for a new certificate. */
export function firstPlan(life: CertificateLifetime, now: number): RenewalPlan {
  return {
    renewAt: defaultRenewalTime(life),
    informationAt: now + hashFraction(life.name, 'first') * ARI_INTERVAL_MS,
  }
}

/**
 * The plan after a response: a deterministic moment in the suggested window (RFC 9773, 4.2), or now when the
 * window has passed; the default rule without a window.
 */
export function planFromAri(
  life: CertificateLifetime,
  information: RenewalInformation | undefined,
  now: number,
): RenewalPlan {
  const informationAt = nextAriTime(life, information?.askAgainAt ?? Number.POSITIVE_INFINITY, now)
  if (!information) return { renewAt: defaultRenewalTime(life), informationAt }
  const { start, end } = information
  const moment = start + hashFraction(life.name, `${start} ${end}`) * (end - start)
  const renewAt = Math.max(Math.min(moment, latestRenewal(life)), earliestRenewal(life, DAY_MS))
  return { renewAt: Math.round(renewAt), informationAt }
}

/** The plan after a request failed: the earlier of the previous plan and the default rule. */
export function planWithoutAri(life: CertificateLifetime, renewAt: number | null, now: number): RenewalPlan {
  const rule = defaultRenewalTime(life)
  return {
    renewAt: Math.min(renewAt ?? rule, rule),
    informationAt: Math.round(now + (0.5 + 0.5 * hashFraction(life.name, `${now}`)) * ARI_RETRY_MS),
  }
}

/** The earlier of both times. */
export function nextDueTime({
  renewAt,
  informationAt,
}: {
  renewAt: number
  informationAt: number | null
}): number {
  return informationAt === null ? renewAt : Math.min(renewAt, informationAt)
}

/**
 * Time of the next attempt after consecutive failures: after 1, 10 and 100 minutes, then daily; more often
 * when the certificate is about to expire, within the CA's limit of failed validations.
 */
export function retryTime(failures: number, notAfter: number | null, name: string, now: number): number {
  const ordinary = RETRY_DELAYS_MS[Math.min(failures, RETRY_DELAYS_MS.length) - 1]!
  const left = (notAfter ?? 0) - now
  const delay = left > 0 ? Math.min(ordinary, Math.max(HOUR_MS, left / 8)) : ordinary
  return Math.round(now + delay * (1 + 0.1 * hashFraction(name, `${now}`)))
}

/** Whether a name is given up: failures for a week, and no valid certificate. */
export function isTerminal(failures: number, notAfter: number | null, now: number): boolean {
  return failures >= MAX_CONSECUTIVE_FAILURES && (notAfter ?? 0) <= now
}

/** Priority when the CA's limits do not allow all orders. */
export type Urgency = 'first' | 'urgent' | 'relaxed'

/** `first` without a valid certificate; `urgent` below a sixth of the lifetime. */
export function toUrgency(left: number): Urgency {
  if (left <= 0) return 'first'
  return left < 1 / 6 ? 'urgent' : 'relaxed'
}

/** The remaining fraction of a certificate's lifetime, from 1 to 0. */
export function lifeLeft(notBefore: number | null, notAfter: number | null, now: number): number {
  if (notBefore === null || notAfter === null) return 0
  return Math.min(1, Math.max(0, (notAfter - now) / (notAfter - notBefore)))
}

/** A deterministic number in [0, 1) for these texts, evenly distributed. */
export function hashFraction(...texts: string[]): number {
  return createHash('sha256').update(texts.join('\n')).digest().readUInt32BE() / 2 ** 32
}

/**
 * A third of the lifetime before expiry, or half of a short lifetime, up to a thirtieth earlier to spread
 * renewals.
 */
function defaultRenewalTime(life: CertificateLifetime): number {
  const length = life.notAfter - life.notBefore
  const left = length < SHORT_LIFETIME_MS ? length / 2 : length / 3
  const moment = life.notAfter - left - (length / 30) * hashFraction(life.name, `${life.notAfter}`)
  return Math.round(Math.max(moment, earliestRenewal(life, length)))
}

/** Lower bound of the interval, whatever the clock or the window: a tenth of the lifetime, at most `most`. */
function earliestRenewal(life: CertificateLifetime, most: number): number {
  return life.issuedAt + Math.min((life.notAfter - life.notBefore) / 10, most)
}

/**
 * Leaves enough time for an outage of days, or of hours for short lifetimes, to end before the certificate
 * expires.
 */
function latestRenewal({ notBefore, notAfter }: CertificateLifetime): number {
  return notAfter - (notAfter - notBefore) / 6
}

function nextAriTime({ name }: CertificateLifetime, wanted: number, now: number): number {
  const most = ARI_INTERVAL_MS * (1 - 0.05 * hashFraction(name, `${now}`))
  return Math.round(now + Math.max(MINUTE_MS, Math.min(wanted - now, most)))
}
