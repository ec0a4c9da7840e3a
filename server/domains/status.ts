import type { DomainCertificate } from '../../protocol/api/domains.ts'
import type { DomainRow } from '../store/schema.ts'
import type { WriteTransaction } from '../store/store.ts'
import { RESERVATION_MS } from './schedule.ts'
import { startWaiting } from './transition.ts'

/** Certificates for names; absent without HTTPS. */
export interface DomainCertificates {
  /** Called in the transaction that activates a name. */
  request(tx: WriteTransaction, name: string): Promise<void>
  /** Called in the transaction that deactivates it. */
  release(tx: WriteTransaction, name: string): Promise<void>
  statuses(names: readonly string[]): Promise<Map<string, DomainCertificate>>
  /** The owner of an active name requests another attempt. */
  retry(name: string): Promise<void>
}

/** The name now belongs to the row's account and no longer to its previous owner. */
export async function activate(
  tx: WriteTransaction,
  row: DomainRow,
  change: Partial<DomainRow>,
  {
    now,
    rival,
    certificates,
  }: { now: number; rival: DomainRow | undefined; certificates: DomainCertificates | undefined },
): Promise<void> {
  if (rival) await deactivate(tx, rival, startWaiting(now, lostMessage(row.domain)), certificates)
  await tx.domains.update(row, change)
  await tx.domains.releaseReservation(row.domain)
  await certificates?.request(tx, row.domain)
  await invalidateCaches(tx, row)
}

/** The name becomes pending: it is no longer served and gets no certificates. */
export async function deactivate(
  tx: WriteTransaction,
  row: DomainRow,
  change: Partial<DomainRow>,
  certificates?: DomainCertificates,
): Promise<void> {
  await tx.domains.update(row, change)
  await certificates?.release(tx, row.domain)
  await invalidateCaches(tx, row)
}

/** Removes a name from its account. An active name stays reserved for it for a while, with the same token. */
export async function removeDomain(
  tx: WriteTransaction,
  row: DomainRow,
  now: number,
  certificates?: DomainCertificates,
): Promise<void> {
  await invalidateCaches(tx, row)
  const other = await tx.domains.secondary(row.account_id, row.domain)
  if (other) await tx.domains.update(other, { primary_domain: null })
  await tx.domains.remove(row.account_id, row.domain)
  if (row.status !== 'active') return
  const { domain, account_id, proof } = row
  await tx.domains.reserve({ domain, account_id, proof, until: now + RESERVATION_MS })
  await certificates?.release(tx, domain)
}

/** The same for every name of a deleted site. */
export async function removeDomainsOf(
  tx: WriteTransaction,
  slug: string,
  now: number,
  certificates?: DomainCertificates,
): Promise<void> {
  for (const row of await tx.domains.bySite(slug)) await removeDomain(tx, row, now, certificates)
}

/** The redirect between a root domain and its `www` depends on both, so both are invalidated together. */
async function invalidateCaches(
  tx: WriteTransaction,
  { domain, account_id, slug, primary_domain }: DomainRow,
): Promise<void> {
  await tx.notifyChanged(slug)
  await tx.notifyChanged(domain)
  const other = primary_domain ?? (await tx.domains.secondary(account_id, domain))?.domain
  if (other) await tx.notifyChanged(other)
}

function lostMessage(domain: string): string {
  return `Another account has proven that ${domain} is its own, and your TXT record was no longer there`
}
