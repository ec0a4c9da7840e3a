import { ApiError } from '../../lib/errors.ts'
import type { Site } from '../../store/contract/sites.ts'
import type { Queries } from '../../store/store.ts'

/** The site of this slug, which may be in the trash; NOT_FOUND when there is none or it was deleted permanently. */
export async function requirePresentSite(queries: Queries, slug: string): Promise<Site> {
  const site = await queries.sites.bySlug(slug)
  if (site && (site.deletedAt === null || site.keptUntil !== null)) return site
  throw new ApiError('NOT_FOUND', `There is no site ${slug}`)
}
