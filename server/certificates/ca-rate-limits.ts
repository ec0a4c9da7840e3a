import { randomUUID } from 'node:crypto'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../lib/time.ts'
import type { CountedRequestFilter } from '../store/queries/certificates.ts'
import type { Queries } from '../store/queries.ts'
import type { WriteTransaction } from '../store/store.ts'
import { hashFraction, toUrgency } from './schedule.ts'

/** Within 3 hours; large CAs allow 300. The rest is for names without a certificate, or with one about to expire. */
const MAX_ORDERS = { relaxed: 100, first: 200, urgent: 270 } as const
const ORDERS_WINDOW_MS = 3 * HOUR_MS

/** Orders of one account, or for all sites, in 3 hours: a tenth of those for names without a certificate. */
const MAX_ORDERS_OF_ACCOUNT = 20

/** First certificates for names of one registrable domain in 7 days, of the 50 that large CAs publish. */
const MAX_CERTIFICATES_OF_ROOT = 40
export const ROOT_WINDOW_MS = 7 * DAY_MS

/** Renewals with ARI do not count at the CA but are bounded here. */
const MAX_RENEWALS = 2700

/** Of 5 certificates for the same set of names in 7 days. */
const MAX_CERTIFICATES = 4
const CERTIFICATES_WINDOW_MS = 7 * DAY_MS

/** Of 5 failed validations of a name within an hour. */
const MAX_FAILURES = 4
const FAILURES_WINDOW_MS = HOUR_MS

/** Many names may wait for the same slot: those without a certificate retry spread over this time. */
const SPREAD_MS = 10 * MINUTE_MS

const MAX_PAUSE_MS = DAY_MS

export interface Share {
  accountId: string
  root: string
  /** Of a site of the service: the first certificates for all sites in 7 days. */
  ofSites?: number
}

interface OrderRequest {
  name: string
  /** The URL of the order whose certificate is requested next; undefined before it is placed. */
  order?: string | undefined
  /** RFC 9773, 5. */
  isRenewal: boolean
  /** 0 without a certificate. */
  lifeLeft: number
  /** Undefined for the service's own names. */
  share?: Share | undefined
}

interface RateLimit {
  counted: Omit<CountedRequestFilter, 'directory'>
  max: number
  windowMs: number
  spreadMs?: number
}

/** A wildcard includes its parent. */
export function certificateNames(name: string): string[] {
  return name.startsWith('*.') ? [name, name.slice(2)] : [name]
}

export interface CaWrite {
  tx: WriteTransaction
  directory: string
}

/** The scope of writes that count orders, or decide by their number. */
export const BUDGET_SCOPE = { authority: 'orders' } as const

/** Across all nodes, within limits of CAs: an order, or its certificate. Undefined if reserved, else the next attempt. */
export async function reserve(
  { tx, directory }: CaWrite,
  request: OrderRequest,
  now: number,
): Promise<number | undefined> {
  let time = (await findPause(tx, { directory, names: [request.name] }, now)) ?? now
  for (const { counted, max, windowMs, spreadMs = 0 } of getLimits(request, now)) {
    const oldest = await tx.acme.nthLatestRequest({ ...counted, directory }, max, now - windowMs)
    if (oldest !== undefined) time = Math.max(time, Math.round(oldest + windowMs + spreadMs))
  }
  if (time > now) return time
  const { name, order, isRenewal, share } = request
  const kind = order !== undefined ? 'certificate' : isRenewal ? 'renewal' : 'order'
  const id = order === undefined ? randomUUID() : certificateRequestId(order)
  const by = share && { accountId: share.accountId, root: share.root }
  const names = certificateNames(name)
  await tx.acme.countRequest({ id, directory, kind, names, at: now, ...by })
  return undefined
}

/** The sites of one owner can use a quarter of the certificates for all sites. */
export function maxCertificatesOfOwner(ofSites: number): number {
  return Math.ceil(ofSites / 4)
}

export async function hasRoom({ tx, directory }: CaWrite, share: Share, now: number): Promise<boolean> {
  for (const { counted, max, windowMs } of limitsOfShare(share))
    if ((await tx.acme.nthLatestRequest({ ...counted, directory }, max, now - windowMs)) !== undefined)
      return false
  return true
}

export async function countFailure(
  { tx, directory }: CaWrite,
  { name, order }: { name: string; order: string },
  now: number,
): Promise<void> {
  const names = certificateNames(name)
  await tx.acme.countRequest({ id: `failure ${order}`, directory, kind: 'failure', names, at: now })
}

function certificateRequestId(order: string): string {
  return `certificate ${order}`
}

/** Once the state of the order shows that none was issued. Returns whether it was counted. */
export function uncount(tx: WriteTransaction, order: string): Promise<boolean> {
  return tx.rows.remove('acme_requests', { id: certificateRequestId(order) })
}

/** Without names for all, and at most for a day. */
export async function pauseCa(
  { tx, directory }: CaWrite,
  { until, names }: { until: number; names: string[] },
  now: number,
): Promise<void> {
  const at = names.length > 0 ? until : Math.min(until, now + MAX_PAUSE_MS)
  await tx.acme.countRequest({ id: randomUUID(), directory, kind: 'pause', names, at })
}

/** When the pause of exactly these names ends, without names that of all; undefined if there is none. */
export function findPause(
  { acme }: Pick<Queries, 'acme'>,
  { directory, names }: { directory: string; names: string[] },
  now: number,
): Promise<number | undefined> {
  return acme.nthLatestRequest({ kind: 'pause', directory, names }, 1, now)
}

/** Keeps the last order, which shows a change of the CA. */
export async function prune(tx: WriteTransaction, now: number): Promise<void> {
  const before = now - CERTIFICATES_WINDOW_MS - DAY_MS
  await tx.acme.deleteRequests(Math.min(before, (await tx.acme.lastOrder())?.at ?? before))
}

/** Accounts and registrable domains have shares for names without a certificate: renewed names were within them. */
function getLimits({ name, order, isRenewal, lifeLeft, share }: OrderRequest, now: number): RateLimit[] {
  const names = certificateNames(name)
  const failures = atMost(MAX_FAILURES, { kind: 'failure', names }, FAILURES_WINDOW_MS)
  if (isRenewal) return [failures, atMost(MAX_RENEWALS, { kind: 'renewal' }, ORDERS_WINDOW_MS)]
  const certificates = atMost(MAX_CERTIFICATES, { kind: 'certificate', names }, CERTIFICATES_WINDOW_MS)
  const orders: RateLimit = {
    counted: { kind: 'order' },
    max: MAX_ORDERS[toUrgency(lifeLeft)],
    windowMs: ORDERS_WINDOW_MS,
    // The sooner their certificates expire, the sooner they retry.
    spreadMs: lifeLeft > 0 ? lifeLeft * ORDERS_WINDOW_MS : hashFraction(name, `${now}`) * SPREAD_MS,
  }
  const limits = [failures, certificates, orders, ...(share && lifeLeft === 0 ? limitsOfShare(share) : [])]
  return order === undefined ? limits : limits.filter(({ counted }) => counted.kind === 'certificate')
}

/** Those of sites do not depend on the domains of their owner: otherwise one owner's would keep the sites of others waiting. */
function limitsOfShare({ accountId, root, ofSites }: Share): RateLimit[] {
  const owner = ofSites === undefined ? { accountId } : { root }
  const orders = atMost(MAX_ORDERS_OF_ACCOUNT, { kind: 'order', ...owner }, ORDERS_WINDOW_MS)
  const max = ofSites ?? MAX_CERTIFICATES_OF_ROOT
  const ofRoot = atMost(max, { kind: 'certificate', root }, ROOT_WINDOW_MS)
  if (ofSites === undefined) return [orders, ofRoot]
  const ofAccount = { kind: 'certificate', accountId, root } as const
  return [orders, ofRoot, atMost(maxCertificatesOfOwner(ofSites), ofAccount, ROOT_WINDOW_MS)]
}

function atMost(max: number, counted: RateLimit['counted'], windowMs: number): RateLimit {
  return { counted, max, windowMs }
}
