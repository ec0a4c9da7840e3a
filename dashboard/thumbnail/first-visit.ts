import type { SiteDetails, SiteSummary } from '../../protocol/api/sites.schema.ts'
import { slipway } from '../api/slipway.ts'
import { drawVersion, isDrawn } from './draw-version.ts'

/** Sites of the list that this tab draws: each costs requests for its files. */
const MAX_LISTED_DRAWINGS = 6

let listed = 0

/**
 * Draws the thumbnail of the live version when it has none, as after a publish without a browser. The user does not wait
 * for it.
 */
export async function drawOnFirstVisit({
  slug,
  currentVersionId,
  files,
  ...site
}: SiteDetails): Promise<void> {
  if (currentVersionId === null || site.thumbnailUrl !== null || site.suspension || isDrawn(currentVersionId))
    return
  await drawVersion({ slug, versionId: currentVersionId }, [], files)
}

/** The same for the first sites of a list, one after the other. */
export async function drawListed(sites: readonly SiteSummary[]): Promise<void> {
  for (const { slug, currentVersionId, thumbnailUrl } of sites) {
    if (listed >= MAX_LISTED_DRAWINGS) return
    if (currentVersionId === null || thumbnailUrl !== null || isDrawn(currentVersionId)) continue
    listed++
    await slipway.details(slug).then(drawOnFirstVisit, () => undefined)
  }
}
