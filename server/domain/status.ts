import type { DomainCertificate } from '../../client/wire.ts'
import type { DomainRow } from '../store/schema.ts'
import type { Writing } from '../store/store.ts'
import { waiting } from './outcome.ts'
import { HOLD } from './schedule.ts'

/** Who gets certificates for names; nobody does for a service without HTTPS. */
export interface DomainCertificates {
  /** Within the write that makes a name active. */
  want(tx: Writing, name: string): Promise<void>
  /** Within the write that ends that. */
  release(tx: Writing, name: string): Promise<void>
  records(names: readonly string[]): Promise<Map<string, DomainCertificate>>
  /** The owner of an active name asks: what was given up is tried once more. */
  retry(name: string): Promise<void>
}

/** The name is the row's account's from now on, and no longer that of whoever had it. */
export async function activate(
  tx: Writing,
  row: DomainRow,
  change: Partial<DomainRow>,
  {
    now,
    rival,
    certificates,
  }: { now: number; rival: DomainRow | undefined; certificates: DomainCertificates | undefined },
): Promise<void> {
  if (rival) await deactivate(tx, rival, waiting(now, lostTo(row.domain)), certificates)
  await tx.domains.update(row, change)
  await tx.domains.letGo(row.domain)
  await certificates?.want(tx, row.domain)
  await tellOf(tx, row)
}

/** The name is pending again: not served from now on, and without certificates to come. */
export async function deactivate(
  tx: Writing,
  row: DomainRow,
  change: Partial<DomainRow>,
  certificates?: DomainCertificates,
): Promise<void> {
  await tx.domains.update(row, change)
  await certificates?.release(tx, row.domain)
  await tellOf(tx, row)
}

/** Takes a name from its account. An active one is kept for it for a while, with the same proof. */
export async function endDomain(
  tx: Writing,
  row: DomainRow,
  now: number,
  certificates?: DomainCertificates,
): Promise<void> {
  await tellOf(tx, row)
  const other = await tx.domains.secondary(row.account_id, row.domain)
  if (other) await tx.domains.update(other, { primary_domain: null })
  await tx.domains.remove(row.account_id, row.domain)
  if (row.status !== 'active') return
  const { domain, account_id, proof } = row
  await tx.domains.hold({ domain, account_id, proof, until: now + HOLD })
  await certificates?.release(tx, domain)
}

/** The same for every name of a site that ends. */
export async function endDomainsOf(
  tx: Writing,
  slug: string,
  now: number,
  certificates?: DomainCertificates,
): Promise<void> {
  for (const row of await tx.domains.bySite(slug)) await endDomain(tx, row, now, certificates)
}

/** Whether the one redirects depends on the other, so the two of a pair are always forgotten together. */
async function tellOf(tx: Writing, { domain, account_id, slug, primary_domain }: DomainRow): Promise<void> {
  await tx.changed(slug)
  await tx.changed(domain)
  const other = primary_domain ?? (await tx.domains.secondary(account_id, domain))?.domain
  if (other) await tx.changed(other)
}

function lostTo(domain: string): string {
  return `Another account has proven that ${domain} is its own, and your TXT record was no longer there`
}
