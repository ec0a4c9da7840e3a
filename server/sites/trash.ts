import type { DeleteResponse } from '../../protocol/api/sites.schema.ts'
import {
  assertNotBeingDeleted,
  type Caller,
  isDeletableWith,
  isInTrash,
  needsKeyOrToken,
  requireAccess,
  requireAccount,
  requireNotExpired,
  type SiteAccess,
} from '../accounts/authorization.ts'
import { releaseHolding } from '../accounts/quotas.ts'
import {
  type DomainCertificates,
  removeSiteDomains,
  restoreSiteDomains,
  writeWithDomains,
} from '../domains/status.ts'
import { Component } from '../lib/component.ts'
import { toIsoOrNull } from '../lib/time.ts'
import type { Parts } from '../parts.ts'
import type { Queries } from '../store/queries.ts'
import type { Store, WriteTransaction } from '../store/store.ts'
import type { Account } from '../store/tables/accounts.ts'
import { BEING_DELETED, type KeptDomain, NO_METADATA, type Site } from '../store/tables/sites.ts'
import type { VersionHeader } from '../store/tables/versions.ts'
import { deleteVersions, removeVersions, takeForWrite } from './version.ts'

type TrashParts = Pick<Parts, 'store' | 'plans' | 'clock'> & {
  precompressor: { enqueue(slug: string, versionId: string): void }
  certificates?: DomainCertificates | undefined
  /** In seconds; with 0 there is no trash. */
  trashLifetime: number
}

const MAX_DELETION_MS = 10_000

export class Trash extends Component<TrashParts> {
  /**
   * Spec 4.9: invisible to visitors immediately. The site is in the trash afterwards, unless it was never finalized or
   * `permanent`, with which sites in the trash are deleted, too. A site without an owner is deleted permanently, with
   * its claim token in place of an account.
   */
  async remove(
    caller: Caller,
    slug: string,
    { claimToken, permanent = false }: { claimToken?: string | undefined; permanent?: boolean } = {},
  ): Promise<DeleteResponse> {
    const { store, clock, certificates, trashLifetime } = this.parts
    if (claimToken === undefined && !caller.account) throw needsKeyOrToken()
    const now = clock()
    const scope = { site: slug, ...(caller.account && { account: caller.account.id }) }
    const find = ({ domains }: Queries) => domains.bySite(slug)
    const deletedUntil = await writeWithDomains(store, { scope, find }, async (tx) => {
      const erase = async () => {
        await deleteSite(tx, slug, 'deleted', now, certificates)
        return null
      }
      if (claimToken !== undefined && (await isDeletableWith(tx, { slug, claimToken }))) return erase()
      const account = requireAccount(caller)
      const trashed = permanent ? await findInTrash(tx, { slug, account, now }) : undefined
      if (trashed) return erase()
      const site = await requireAccess(tx, 'delete', { slug, account, now })
      const isKept = !permanent && isRestorable(site, trashLifetime)
      // The bytes of an expired site are deleted in any case.
      const keptUntil = isKept ? Math.min(now + trashLifetime * 1000, site.expiresAt ?? Infinity) : null
      if (account.reminders) await noticeDeletion(tx, { account, site, keptUntil, now })
      if (keptUntil === null) return erase()
      await moveToTrash(tx, site, { keptUntil, now, certificates })
      return keptUntil
    })
    await deleteRest(this.parts, slug)
    return { slug, deleted: true, deletedUntil: toIsoOrNull(deletedUntil) }
  }

  async isUnowned(slug: string, claimToken: string): Promise<boolean> {
    return isDeletableWith(this.parts.store.read, { slug, claimToken }).catch(() => false)
  }

  /** With versions, settings, collaborators; domains must be verified again. False for a site that is not deleted. */
  async undelete(account: Account, slug: string): Promise<boolean> {
    const { store, plans, precompressor, clock } = this.parts
    const restored = await store.write('durable', { site: slug, account: account.id }, async (tx) => {
      const now = clock()
      const trashed = await findInTrash(tx, { slug, account, now })
      if (!trashed) {
        await requireAccess(tx, 'delete', { slug, account, now })
        return undefined
      }
      const changes = {
        deletedAt: null,
        deletionReason: null,
        keptUntil: null,
        keptDomains: [],
        updatedAt: now,
      }
      requireNotExpired({ ...trashed, ...changes }, now)
      await assertNotBeingDeleted(tx, account)
      await tx.sites.update(slug, changes)
      await tx.rows.remove('notices', { id: noticeId(slug, trashed.deletedAt!) })
      const maxDomains = plans.limitsOf(account).domains
      const kept = { slug, accountId: account.id, kept: trashed.keptDomains }
      await restoreSiteDomains(tx, kept, { maxDomains, now })
      await tx.notifyChanged(slug)
      return trashed
    })
    if (restored?.liveVersionId) precompressor.enqueue(slug, restored.liveVersionId)
    return restored !== undefined
  }
}

/** Whether a deletion of the site, unless `permanent`, keeps it in the trash. */
export function isRestorable(site: Site, trashLifetime: number): boolean {
  return trashLifetime > 0 && site.isFinalized && site.ownerId !== null
}

/**
 * Permanently, with its domains, collaborators and references; the row stays: the slug is retired. Of many versions it
 * deletes some, and the others are left to `deleteRest`. Returns their number of files.
 */
export async function deleteSite(
  tx: WriteTransaction,
  slug: string,
  reason: NonNullable<Site['deletionReason']>,
  now: number,
  certificates?: DomainCertificates,
): Promise<number> {
  const site = await tx.sites.find(slug)
  if (!site) return 0
  // The newest one last: it has most of the contents of the others, which stay until then.
  const versions = (await tx.versions.bySlug(slug)).reverse()
  const chosen = takeForWrite(versions)
  let bytes = await removeVersions(tx, site, { ids: chosen.map(({ id }) => id), now })
  if (site.keptUntil !== BEING_DELETED) bytes += await retire(tx, site, { reason, now, certificates })
  // The site counts for its holder as long as it has versions.
  const isLast = chosen.length === versions.length
  await tx.sites.update(slug, isLast ? { keptUntil: null, network: null } : { keptUntil: BEING_DELETED })
  await releaseHolding(tx, site, { bytes, sites: isLast ? 1 : 0 })
  return chosen.reduce((sum, { fileCount }) => sum + fileCount, 0)
}

/** After `deleteSite` and `moveToTrash`, for a while. What fails or is left then, the sweeps `trash` and `abandoned` delete. */
export async function deleteRest(
  { store, clock }: { store: Store; clock: () => number },
  slug: string,
): Promise<void> {
  const findWithRest = async (queries: Queries) => {
    const site = await queries.sites.find(slug)
    if (site?.keptUntil === BEING_DELETED) return site
    return site?.deletedAt && (await listPending(queries, slug)).length > 0 ? site : undefined
  }
  const until = performance.now() + MAX_DELETION_MS
  const deleteNext = () =>
    writeWithDomains(store, { scope: { site: slug }, find: async () => [] }, async (tx) => {
      // Another process may have completed it, and the name of an abandoned site may be used again.
      const site = await findWithRest(tx)
      if (site?.keptUntil === BEING_DELETED) await deleteSite(tx, slug, 'deleted', clock())
      else if (site) await deletePending(tx, slug, clock())
      return true
    }).catch(() => false)
  while ((await findWithRest(store.read)) && performance.now() < until) if (!(await deleteNext())) return
}

/** Removes a site from everything but its holder, once. Returns the bytes that it had beside its versions. */
async function retire(
  tx: WriteTransaction,
  { slug, ownerId, visitsKey }: Site,
  o: { reason: Site['deletionReason']; now: number; certificates: DomainCertificates | undefined },
): Promise<number> {
  const { reason, now, certificates } = o
  for (const { email } of await tx.collaborators.bySite(slug)) {
    const account = await tx.accounts.byEmail(email)
    if (account) await tx.keys.deleteOfSite(account.id, visitsKey)
  }
  await tx.collaborators.removeOfSite(slug)
  const bytes = await tx.reviews.remove({ slug })
  if (ownerId !== null) {
    await tx.keys.deleteOfSite(ownerId, visitsKey)
    await tx.trusts.deleteOfSite(visitsKey)
  }
  await tx.reports.markActed([visitsKey], now)
  await releaseHosts(tx, slug, now, certificates)
  await tx.sites.update(slug, {
    liveVersionId: null,
    previousVersionId: null,
    ...NO_METADATA,
    passwordHash: null,
    reviewKey: null,
    allowedSecrets: [],
    // Of an expired site it shows that, to its publisher.
    ...(reason === 'deleted' && { claimTokenHash: null }),
    deletedAt: now,
    deletionReason: reason,
    updatedAt: now,
    keptDomains: [],
  })
  return bytes
}

/** Keeps the finalized versions; as `deleteSite` otherwise. Of many pending versions it leaves some to `deleteRest`. */
async function moveToTrash(
  tx: WriteTransaction,
  { slug }: Site,
  o: { keptUntil: number; now: number; certificates: DomainCertificates | undefined },
): Promise<void> {
  await deletePending(tx, slug, o.now)
  const keptDomains = await releaseHosts(tx, slug, o.now, o.certificates)
  const { keptUntil, now: deletedAt } = o
  await tx.sites.update(slug, { deletedAt, deletionReason: 'deleted', keptUntil, keptDomains })
}

async function deletePending(tx: WriteTransaction, slug: string, now: number): Promise<void> {
  const ids = takeForWrite(await listPending(tx, slug)).map(({ id }) => id)
  if (ids.length > 0) await deleteVersions(tx, slug, { ids, now, effect: 'withdrawn' })
}

async function listPending({ versions }: Queries, slug: string): Promise<VersionHeader[]> {
  return (await versions.bySlug(slug)).filter(({ state }) => state === 'pending')
}

async function releaseHosts(
  tx: WriteTransaction,
  slug: string,
  now: number,
  certificates: DomainCertificates | undefined,
): Promise<KeptDomain[]> {
  const domains = await removeSiteDomains(tx, slug, now, certificates)
  for (const former of await tx.sites.endRedirects(now, slug)) await tx.notifyChanged(former)
  await tx.notifyChanged(slug)
  return domains
}

async function findInTrash({ sites }: Queries, at: SiteAccess): Promise<Site | undefined> {
  const site = await sites.find(at.slug)
  return site && site.ownerId === at.account.id && isInTrash(site, at.now) ? site : undefined
}

async function noticeDeletion(
  tx: WriteTransaction,
  { account, site, keptUntil, now }: { account: Account; site: Site; keptUntil: number | null; now: number },
): Promise<void> {
  const { slug, title } = site
  const event = { kind: 'site-deleted', slug, title, at: now, keptUntil } as const
  const id = noticeId(slug, now)
  await tx.notices.addWithinLimit({ id, accountId: account.id, event, createdAt: now })
}

function noticeId(slug: string, deletedAt: number): string {
  return `site-deleted ${slug} ${deletedAt}`
}
