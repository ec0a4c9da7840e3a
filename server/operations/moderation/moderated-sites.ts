import type { ModeratedSite } from '../../../protocol/api/admin/moderation.schema.ts'
import { toIso, toIsoOrNull } from '../../lib/time.ts'
import type { UrlBuilder } from '../../sites/urls.ts'
import type { Store } from '../../store/store.ts'
import { describeSuspension } from '../administration/suspension.ts'
import { findTitle, requirePresentSite } from './targets.ts'

export class ModeratedSites {
  readonly #store: Store
  readonly #addresses: UrlBuilder

  constructor({ store, addresses }: { store: Store; addresses: UrlBuilder }) {
    this.#store = store
    this.#addresses = addresses
  }

  /** NOT_FOUND for a site that was deleted permanently. */
  async find(slug: string): Promise<ModeratedSite> {
    const { read } = this.#store
    const site = await requirePresentSite(read, slug)
    const owner = site.ownerId === null ? undefined : await read.accounts.byId(site.ownerId)
    return {
      slug,
      siteUrl: this.#addresses.site(slug),
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
