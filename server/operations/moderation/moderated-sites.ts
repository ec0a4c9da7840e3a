import type { AdminSuspension, ModeratedSite } from '../../../protocol/api/admin/moderation.schema.ts'
import { Component } from '../../lib/component.ts'
import { ApiError } from '../../lib/errors.ts'
import { toIso, toIsoOrNull } from '../../lib/time.ts'
import type { Parts } from '../../parts.ts'
import type { Queries } from '../../store/queries.ts'
import type { Suspension } from '../../store/tables/accounts.ts'
import { BEING_DELETED, type Site } from '../../store/tables/sites.ts'

export class ModeratedSites extends Component<Pick<Parts, 'store' | 'addresses'>> {
  /** NOT_FOUND for a site that was deleted permanently. */
  async find(slug: string): Promise<ModeratedSite> {
    const { read } = this.parts.store
    const site = await requirePresentSite(read, slug)
    const owner = site.ownerId === null ? undefined : await read.accounts.find(site.ownerId)
    return {
      slug,
      siteUrl: this.parts.addresses.site(slug),
      title: await findTitle(read, site),
      owner: owner ? { id: owner.id, email: owner.email } : null,
      createdAt: toIso(site.createdAt),
      expiresAt: toIsoOrNull(site.expiresAt),
      deletedAt: toIsoOrNull(site.deletedAt),
      hosts: (await read.domains.bySite(slug)).map(({ domain }) => domain),
      suspension: describeSuspension(site.suspension),
      ownerSuspension: describeSuspension(owner?.suspension ?? null),
      reports: (await read.reports.find(site.visitsKey))?.count ?? 0,
    }
  }
}

/** The site may be in the trash; NOT_FOUND when there is none or it was deleted permanently. */
export async function requirePresentSite(queries: Queries, slug: string): Promise<Site> {
  const site = await queries.sites.find(slug)
  const isKept = (site?.keptUntil ?? BEING_DELETED) !== BEING_DELETED
  if (site && (site.deletedAt === null || isKept)) return site
  throw new ApiError('NOT_FOUND', `There is no site ${slug}`)
}

export function describeSuspension(suspension: Suspension | null): AdminSuspension | null {
  return suspension && { ...suspension, since: toIso(suspension.since) }
}

/** The one that the owner has set, or that of the live page; null without both. */
export async function findTitle(
  { versions }: Queries,
  { title, liveVersionId }: Pick<Site, 'title' | 'liveVersionId'>,
): Promise<string | null> {
  if (title !== null || liveVersionId === null) return title
  return (await versions.header(liveVersionId))?.title ?? null
}
