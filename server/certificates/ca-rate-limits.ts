import { randomUUID } from 'node:crypto'
import type { AcmeRequestRow } from '../store/schema.ts'
import type { WriteTransaction } from '../store/store.ts'
import { hashFraction, toUrgency } from './renewal.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/**
 * Orders within 3 hours by urgency; large CAs allow 300. Renewals leave room for names without a valid
 * certificate, and both leave room for certificates that are about to expire.
 */
const MAX_ORDERS = { relaxed: 100, first: 200, urgent: 270 } as const
const ORDERS_WINDOW_MS = 3 * HOUR_MS

/** Orders of one account in 3 hours: a tenth of those for names without a certificate. */
const MAX_ORDERS_OF_ACCOUNT = 20

/** Orders for names of one registrable domain in 7 days, of the 50 that large CAs publish. */
const MAX_ORDERS_OF_ROOT = 40
const ROOT_WINDOW = 7 * DAY_MS

/** Renewals with ARI do not count at the CA but are bounded here. */
const MAX_RENEWALS = 2700

/** Of 5 certificates for the same set of names in 7 days. */
const MAX_CERTIFICATES = 4
const CERTIFICATES_WINDOW_MS = 7 * DAY_MS

/** Of 5 failed validations of a name within an hour. */
const MAX_FAILURES = 4
const FAILURES_WINDOW_MS = HOUR_MS

/** Maximum time that a CA's Retry-After suspends all requests. */
const MAX_PAUSE_MS = DAY_MS

/** An order to be placed for a name of the store. */
export interface OrderRequest {
  name: string
  /** Whether it is an ARI renewal that names the certificate it replaces (RFC 9773, 5). */
  isRenewal: boolean
  /** The remaining fraction of the certificate's lifetime; 0 without a certificate. */
  lifeLeft: number
  /** On whose behalf it is ordered; undefined for the service's own names. */
  share?: { account_id: string; root: string } | undefined
}

/** The names of the certificate stored under a name: a wildcard includes its parent. */
export function certificateNames(name: string): string[] {
  return name.startsWith('*.') ? [name, name.slice(2)] : [name]
}

/**
 * Reserves an order in the store, across all nodes, within the published limits of CAs. Returns undefined
 * when it is reserved, otherwise the time of the next attempt.
 */
export async function reserve(
  tx: WriteTransaction,
  request: OrderRequest,
  now: number,
): Promise<number | undefined> {
  const time = await nextSlot(tx, request, now)
  if (time > now) return time
  const kind = request.isRenewal ? 'renewal' : 'order'
  await tx.acme.countRequest({
    id: randomUUID(),
    kind,
    names: nameSetKey(request.name),
    at: now,
    ...request.share,
  })
  return undefined
}

/** The earliest time of the next validation of a name, after failed validations. */
export async function nextValidationTime(tx: WriteTransaction, name: string, now: number): Promise<number> {
  const about = { kind: 'failure', names: nameSetKey(name) } as const
  return nextTimeBelow(tx, about, MAX_FAILURES, FAILURES_WINDOW_MS, now)
}

/** Counts a certificate of these names, once per order, before it is requested. */
export async function countCertificate(
  tx: WriteTransaction,
  name: string,
  order: string,
  now: number,
): Promise<void> {
  await tx.acme.countRequest({
    id: `certificate ${order}`,
    kind: 'certificate',
    names: nameSetKey(name),
    at: now,
  })
}

/** Counts a failed validation, once per order. */
export async function countFailure(
  tx: WriteTransaction,
  name: string,
  order: string,
  now: number,
): Promise<void> {
  await tx.acme.countRequest({ id: `failure ${order}`, kind: 'failure', names: nameSetKey(name), at: now })
}

/** Suspends requests to the CA until that time, at most for a day. */
export async function pauseCa(tx: WriteTransaction, until: number, now: number): Promise<void> {
  const at = Math.min(until, now + MAX_PAUSE_MS)
  await tx.acme.countRequest({ id: randomUUID(), kind: 'pause', names: '', at })
}

/** Deletes entries that no longer count. */
export async function prune(tx: WriteTransaction, now: number): Promise<void> {
  await tx.acme.deleteRequests(now - CERTIFICATES_WINDOW_MS - DAY_MS)
}

async function nextSlot(tx: WriteTransaction, request: OrderRequest, now: number): Promise<number> {
  const { name, isRenewal, lifeLeft } = request
  const validation = await nextValidationTime(tx, name, now)
  if (isRenewal)
    return Math.max(
      validation,
      await nextTimeBelow(tx, { kind: 'renewal' }, MAX_RENEWALS, ORDERS_WINDOW_MS, now),
    )
  const about = { kind: 'certificate', names: nameSetKey(name) } as const
  const same = await nextTimeBelow(tx, about, MAX_CERTIFICATES, CERTIFICATES_WINDOW_MS, now)
  const own = await timeOfShare(tx, request, now)
  const any = await nextTimeBelow(
    tx,
    { kind: 'order' },
    MAX_ORDERS[toUrgency(lifeLeft)],
    ORDERS_WINDOW_MS,
    now,
  )
  if (any <= now) return Math.max(validation, same, own)
  // Many names may wait for the same room: the sooner their certificates expire, the sooner they retry.
  const apart = lifeLeft > 0 ? lifeLeft * ORDERS_WINDOW_MS : hashFraction(name, `${now}`) * 10 * MINUTE_MS
  return Math.max(validation, same, own, Math.round(any + apart))
}

/**
 * When the account and the registrable domain have room left for a name without a certificate. What is renewed was within
 * the shares once and is not held back by them.
 */
async function timeOfShare(
  tx: WriteTransaction,
  { lifeLeft, share }: OrderRequest,
  now: number,
): Promise<number> {
  if (!share || lifeLeft > 0) return now
  const { account_id, root } = share
  const account = { kind: 'order', account_id } as const
  return Math.max(
    await nextTimeBelow(tx, account, MAX_ORDERS_OF_ACCOUNT, ORDERS_WINDOW_MS, now),
    await nextTimeBelow(tx, { kind: 'order', root }, MAX_ORDERS_OF_ROOT, ROOT_WINDOW, now),
  )
}

async function nextTimeBelow(
  tx: WriteTransaction,
  about: { kind: AcmeRequestRow['kind']; names?: string; account_id?: string; root?: string },
  most: number,
  window: number,
  now: number,
): Promise<number> {
  const before = await tx.acme.nthLatestRequest(about, most, now - window)
  return before === undefined ? now : before + window
}

function nameSetKey(name: string): string {
  return certificateNames(name).toSorted().join()
}
