import { createHash } from 'node:crypto'
import type { RenewalInformation } from '../acme/acme.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Certificates that live shorter are renewed at half of their life. */
const SHORT_LIFE = 10 * DAY

/** The longest time without asking the CA when it wants a certificate renewed. */
const INFORMATION_EVERY = 6 * HOUR

const INFORMATION_RETRY = HOUR

/** How long after a failure a name is tried again; the last one is for all further failures. */
const RETRIES = [MINUTE, 10 * MINUTE, 100 * MINUTE, DAY]

/** Failures in a row that are spread over more than 7 days. */
const HOPELESS = 11

/** A certificate in milliseconds since 1970. */
export interface Life {
  /** Its dates spread with those of others by this. */
  name: string
  notBefore: number
  notAfter: number
  /** By the clock of this service. */
  issuedAt: number
}

/** When a certificate is renewed and when the CA is asked about it again. */
export interface RenewalPlan {
  renewAt: number
  informationAt: number
}

/** The plan for a certificate that has just been issued. */
export function firstPlan(life: Life, now: number): RenewalPlan {
  return { renewAt: ruleTime(life, now), informationAt: now + spread(life.name, 'first') * INFORMATION_EVERY }
}

/**
 * The plan after the CA was asked: by its window when there is one (RFC 9773, 4.2: a moment in it, always the same for the
 * same window, and now when that is over), by the rule when it does not say.
 */
export function informedPlan(
  life: Life,
  information: RenewalInformation | undefined,
  now: number,
): RenewalPlan {
  const informationAt = nextQuestion(life, information?.askAgainAt ?? Number.POSITIVE_INFINITY, now)
  if (!information) return { renewAt: ruleTime(life, now), informationAt }
  const { start, end } = information
  const moment = start + spread(life.name, `${start} ${end}`) * (end - start)
  const renewAt = Math.max(Math.min(moment, latest(life)), earliest(life, DAY, now))
  return { renewAt: Math.round(renewAt), informationAt }
}

/** The plan after the CA could not be asked: what was planned, but not later than the rule has it. */
export function uninformedPlan(life: Life, renewAt: number | null, now: number): RenewalPlan {
  const rule = ruleTime(life, now)
  return {
    renewAt: Math.min(renewAt ?? rule, rule),
    informationAt: Math.round(now + (0.5 + 0.5 * spread(life.name, `${now}`)) * INFORMATION_RETRY),
  }
}

/** The time to do the next thing. */
export function nextOf({
  renewAt,
  informationAt,
}: {
  renewAt: number
  informationAt: number | null
}): number {
  return informationAt === null ? renewAt : Math.min(renewAt, informationAt)
}

/**
 * When a name is tried again that has failed so often in a row: after a minute, ten, a hundred, then daily; oftener when
 * its certificate is about to end, but so that the CA's limit of failures is not reached.
 */
export function retryTime(failures: number, notAfter: number | null, name: string, now: number): number {
  const ordinary = RETRIES[Math.min(failures, RETRIES.length) - 1]!
  const left = (notAfter ?? 0) - now
  const delay = left > 0 ? Math.min(ordinary, Math.max(HOUR, left / 8)) : ordinary
  return Math.round(now + delay * (1 + 0.1 * spread(name, `${now}`)))
}

/** Whether a name that fails its validations is given up: for a week nothing but failures, and no certificate that is valid. */
export function isHopeless(failures: number, notAfter: number | null, now: number): boolean {
  return failures >= HOPELESS && (notAfter ?? 0) <= now
}

/** What goes first when the CA does not take everything at once. */
export type Urgency = 'first' | 'urgent' | 'relaxed'

/** A name without a valid certificate is a first one; with less than a sixth of its life left, renewal is urgent. */
export function urgencyOf(left: number): Urgency {
  if (left <= 0) return 'first'
  return left < 1 / 6 ? 'urgent' : 'relaxed'
}

/** The share of its life that a certificate has before it, from 1 to 0. */
export function lifeLeft(notBefore: number | null, notAfter: number | null, now: number): number {
  if (notBefore === null || notAfter === null) return 0
  return Math.min(1, Math.max(0, (notAfter - now) / (notAfter - notBefore)))
}

/** From 0 up to 1, evenly over texts and always the same for the same one. */
export function spread(...texts: string[]): number {
  return createHash('sha256').update(texts.join('\n')).digest().readUInt32BE() / 2 ** 32
}

/** One third of life before the end, or one half of a short one, and up to a thirtieth earlier, so that not all come at once. */
function ruleTime(life: Life, now: number): number {
  const length = life.notAfter - life.notBefore
  const left = length < SHORT_LIFE ? length / 2 : length / 3
  const moment = life.notAfter - left - (length / 30) * spread(life.name, `${life.notAfter}`)
  return Math.round(Math.max(moment, earliest(life, length, now)))
}

/** However wrong a clock or a window is, certificates must not chase each other: a tenth of life, and not more than `most`. */
function earliest(life: Life, most: number, now: number): number {
  const issuedAt = Math.min(life.issuedAt, now)
  return issuedAt + Math.min((life.notAfter - life.notBefore) / 10, most)
}

/** So that an outage of days, or of hours for short lives, ends before the certificate does. */
function latest({ notBefore, notAfter }: Life): number {
  return notAfter - (notAfter - notBefore) / 6
}

function nextQuestion({ name }: Life, wanted: number, now: number): number {
  const most = INFORMATION_EVERY * (1 - 0.05 * spread(name, `${now}`))
  return Math.round(now + Math.max(MINUTE, Math.min(wanted - now, most)))
}
