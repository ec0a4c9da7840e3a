import type { DomainCertificate } from '../../protocol/api/domains.schema.ts'
import type { Queries } from '../store/queries.ts'
import type { Store, WriteScope, WriteTransaction } from '../store/store.ts'
import { type Domain, newDomain } from '../store/tables/domains.ts'
import { domainNoticeId } from '../store/tables/notices.ts'
import type { KeptDomain } from '../store/tables/sites.ts'
import type { CaaPolicy } from './caa.ts'
import { RESERVATION_MS } from './schedule.ts'
import { startWaiting } from './transition.ts'

/** Absent without HTTPS. */
export interface DomainCertificates {
  /** In the transaction that activates the name. */
  request(tx: WriteTransaction, name: string): Promise<void>
  /** In the transaction that deactivates the name. */
  release(tx: WriteTransaction, name: string): Promise<void>
  /** Undefined while the certificate authority is not reachable. */
  caaPolicy(name: string): Promise<CaaPolicy | undefined>
  statuses(names: readonly string[]): Promise<Map<string, DomainCertificate>>
  /** The owner of an active name requests another attempt. */
  retry(name: string): Promise<void>
}

/** The previous owner loses the name. */
export async function activate(
  tx: WriteTransaction,
  row: Domain,
  change: Partial<Domain>,
  context: { now: number; rival: Domain | undefined; certificates: DomainCertificates | undefined },
): Promise<void> {
  const { now, rival, certificates } = context
  if (rival) {
    const { domain, accountId, slug } = rival
    const problem = `Another account has verified ${domain}, because your TXT record was missing`
    await deactivate(tx, rival, startWaiting(now, problem), certificates)
    const event = { kind: 'domain-fails', domain, slug, problem, servedUntil: null } as const
    const id = domainNoticeId({ ...rival, failingSince: now })
    await tx.notices.add({ id, accountId, event, createdAt: now })
  }
  await tx.domains.update(row, change)
  await tx.rows.remove('held_domains', { domain: row.domain })
  await certificates?.request(tx, row.domain)
  await invalidateCaches(tx, row)
}

/** The name is no longer served and gets no certificates. */
export async function deactivate(
  tx: WriteTransaction,
  row: Domain,
  change: Partial<Domain>,
  certificates?: DomainCertificates,
): Promise<void> {
  await tx.domains.update(row, change)
  await certificates?.release(tx, row.domain)
  await invalidateCaches(tx, row)
}

/** An active name stays reserved for the account for a while, with the same token. */
export async function removeDomain(
  tx: WriteTransaction,
  row: Domain,
  now: number,
  certificates?: DomainCertificates,
): Promise<void> {
  await invalidateCaches(tx, row)
  const other = await tx.domains.secondary(row.accountId, row.domain)
  if (other) await tx.domains.update(other, { primaryDomain: null })
  await tx.rows.remove('domains', { accountId: row.accountId, domain: row.domain })
  if (row.status !== 'active') return
  const { domain, accountId, verificationToken } = row
  await tx.rows.put('held_domains', { domain, accountId, verificationToken, until: now + RESERVATION_MS })
  await certificates?.release(tx, domain)
}

/** Returns what `restoreSiteDomains` needs. */
export async function removeSiteDomains(
  tx: WriteTransaction,
  slug: string,
  now: number,
  certificates?: DomainCertificates,
): Promise<KeptDomain[]> {
  const rows = await tx.domains.bySite(slug)
  for (const row of rows) await removeDomain(tx, row, now, certificates)
  return rows.map(({ domain, verificationToken, primaryDomain }) => {
    return { domain, verificationToken, primaryDomain }
  })
}

/**
 * Adds the names of a restored site again, pending, with the same tokens: their records are verified again. Leaves out
 * names that the account has added elsewhere, and those beyond `maxDomains`.
 */
export async function restoreSiteDomains(
  tx: WriteTransaction,
  { slug, accountId, kept }: { slug: string; accountId: string; kept: readonly KeptDomain[] },
  { maxDomains, now }: { maxDomains: number; now: number },
): Promise<void> {
  // A primary name precedes the one that redirects to it, which is not counted.
  for (const name of kept.toSorted(
    (a, b) => Number(a.primaryDomain !== null) - Number(b.primaryDomain !== null),
  )) {
    if (await tx.domains.find(accountId, name.domain)) continue
    const primary = name.primaryDomain && (await tx.domains.find(accountId, name.primaryDomain))
    const primaryDomain = primary && primary.slug === slug ? primary.domain : null
    if (primaryDomain === null && (await tx.domains.count(accountId)) >= maxDomains) continue
    await tx.domains.insert(newDomain({ ...name, primaryDomain, accountId, slug, createdAt: now }))
  }
}

/** The redirect between a root domain and its `www` depends on both, so both are invalidated together. */
async function invalidateCaches(
  tx: WriteTransaction,
  { domain, accountId, slug, primaryDomain }: Domain,
): Promise<void> {
  await tx.notifyChanged(slug)
  await tx.notifyChanged(domain)
  const other = primaryDomain ?? (await tx.domains.secondary(accountId, domain))?.domain
  if (other) await tx.notifyChanged(other)
}

/** Durable, also about the domains of sites, whose certificates depend on them; repeated if others were added. */
export async function writeWithDomains<T>(
  store: Store,
  { scope, find }: { scope: WriteScope; find: (queries: Queries) => Promise<readonly Domain[]> },
  work: (tx: WriteTransaction) => Promise<T>,
): Promise<T> {
  for (;;) {
    const host = (await find(store.read)).map(({ domain }) => domain)
    const done = await store.write('durable', { ...scope, host }, async (tx) => {
      const current = await find(tx)
      return current.every(({ domain }) => host.includes(domain)) ? { result: await work(tx) } : undefined
    })
    if (done) return done.result
  }
}
