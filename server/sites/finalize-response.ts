import type { FinalizeResponse } from '../../protocol/api/publish.schema.ts'
import type { BlobReader } from '../blobs/blob-reader.ts'
import { toIso } from '../lib/time.ts'
import type { Site } from '../store/tables/sites.ts'
import type { Version } from '../store/tables/versions.ts'
import { findInjection } from './page-metadata/head-metadata.ts'
import { injectionWarnings } from './page-metadata/injected-document.ts'
import { describePreview } from './preview.ts'
import type { UrlBuilder } from './urls.ts'

/**
 * Contract, "Finalize". The warnings are those of the version's rule files, and one when the site's metadata cannot be
 * injected into its root document.
 */
export async function buildFinalizeResponse(
  { addresses, blobs }: { addresses: UrlBuilder; blobs: BlobReader },
  site: Site,
  version: Version,
  more: { previousVersionId: string | null; replayed: boolean; unchanged?: boolean },
): Promise<FinalizeResponse> {
  const injection = findInjection(site, version, addresses)
  const warnings = [...version.warnings, ...(await injectionWarnings(blobs, injection))]
  const preview = describePreview(addresses, version)
  return {
    success: true,
    slug: site.slug,
    siteUrl: addresses.site(site.slug),
    status: site.liveVersionId ? 'active' : 'pending',
    versionId: version.id,
    currentVersionId: site.liveVersionId,
    previousVersionId: more.previousVersionId,
    previewUrl: addresses.preview(site.slug, version.id),
    title: site.title ?? version.title,
    ...(site.expiresAt === null ? {} : { expiresAt: toIso(site.expiresAt) }),
    ...(preview && { preview }),
    ...(more.replayed ? { replayed: true } : {}),
    ...(more.unchanged ? { unchanged: true } : {}),
    ...(warnings.length > 0 ? { warnings } : {}),
  }
}
