import { randomUUID } from 'node:crypto'
import type { AcmeRequestRow } from '../../store/schema.ts'
import type { Writing } from '../../store/store.ts'
import { spread, urgencyOf } from './renewal.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/**
 * Orders in 3 hours, of the 300 that large CAs publish: what can wait leaves room for names without a valid certificate, and
 * both for those whose certificate is about to end.
 */
const ORDERS = { relaxed: 100, first: 200, urgent: 270 } as const
const ORDERS_WINDOW = 3 * HOUR

/** Renewals that say what they replace do not count at the CA; they are bounded all the same. */
const RENEWALS = 2700

/** Of 5 certificates for just the same names in 7 days. */
const CERTIFICATES = 4
const CERTIFICATES_WINDOW = 7 * DAY

/** Of 5 validations of a name that fail within an hour. */
const FAILURES = 4
const FAILURES_WINDOW = HOUR

/** The longest that the CA is left alone because it said so; it is asked again then. */
const LONGEST_PAUSE = DAY

/** What is asked of the CA for a name of the store. */
export interface Request {
  name: string
  /** Whether it renews as the CA suggests and says what it replaces (RFC 9773, 5). */
  renewal: boolean
  /** The share of its life that its certificate has before it; 0 without one. */
  left: number
}

/** The names of the certificate that is kept under a name: a wildcard comes with its parent. */
export function namesOf(name: string): string[] {
  return name.startsWith('*.') ? [name, name.slice(2)] : [name]
}

/**
 * Takes room for an order in the store, where all nodes count, under the limits that CAs publish. Answers undefined when it
 * is taken, else the time to ask again.
 */
export async function takeRoom(tx: Writing, request: Request, now: number): Promise<number | undefined> {
  const time = await timeOfRoom(tx, request, now)
  if (time > now) return time
  const kind = request.renewal ? 'renewal' : 'order'
  await tx.authorities.countRequest({ id: randomUUID(), kind, names: setOf(request.name), at: now })
  return undefined
}

/** When the CA may be asked to look at a name again, after validations that failed. */
export async function timeOfValidation(tx: Writing, name: string, now: number): Promise<number> {
  const about = { kind: 'failure', names: setOf(name) } as const
  return timeUnder(tx, about, FAILURES, FAILURES_WINDOW, now)
}

/** Counts a certificate of these names that the CA is about to be asked for, once for an order. */
export async function countCertificate(tx: Writing, name: string, order: string, now: number): Promise<void> {
  await tx.authorities.countRequest({
    id: `certificate ${order}`,
    kind: 'certificate',
    names: setOf(name),
    at: now,
  })
}

/** Counts a validation that failed, once for an order. */
export async function countFailure(tx: Writing, name: string, order: string, now: number): Promise<void> {
  await tx.authorities.countRequest({ id: `failure ${order}`, kind: 'failure', names: setOf(name), at: now })
}

/** Leaves the CA alone until that time, for a day at most. */
export async function leaveAlone(tx: Writing, until: number, now: number): Promise<void> {
  const at = Math.min(until, now + LONGEST_PAUSE)
  await tx.authorities.countRequest({ id: randomUUID(), kind: 'pause', names: '', at })
}

/** Forgets what counts no longer, and mends what a clock that was ahead has left. */
export async function tidyRequests(tx: Writing, now: number): Promise<void> {
  await tx.authorities.dropRequests(now - CERTIFICATES_WINDOW - DAY)
  await tx.authorities.pullRequests(now, now + LONGEST_PAUSE)
}

async function timeOfRoom(tx: Writing, { name, renewal, left }: Request, now: number): Promise<number> {
  const validation = await timeOfValidation(tx, name, now)
  if (renewal)
    return Math.max(validation, await timeUnder(tx, { kind: 'renewal' }, RENEWALS, ORDERS_WINDOW, now))
  const about = { kind: 'certificate', names: setOf(name) } as const
  const same = await timeUnder(tx, about, CERTIFICATES, CERTIFICATES_WINDOW, now)
  const any = await timeUnder(tx, { kind: 'order' }, ORDERS[urgencyOf(left)], ORDERS_WINDOW, now)
  if (any <= now) return Math.max(validation, same)
  // Many may wait for the same room: the sooner their certificates end, the sooner they ask again.
  const apart = left > 0 ? left * ORDERS_WINDOW : spread(name, `${now}`) * 10 * MINUTE
  return Math.max(validation, same, Math.round(any + apart))
}

async function timeUnder(
  tx: Writing,
  about: { kind: AcmeRequestRow['kind']; names?: string },
  most: number,
  window: number,
  now: number,
): Promise<number> {
  const before = await tx.authorities.requestBefore(about, most, now - window)
  return before === undefined ? now : Math.min(before, now) + window
}

function setOf(name: string): string {
  return namesOf(name).toSorted().join()
}
