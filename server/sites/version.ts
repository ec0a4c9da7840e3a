import type { SiteMetadata } from '../../protocol/api/publish.ts'
import type { StoredFile } from '../../protocol/manifest/manifest.ts'
import { ApiError } from '../lib/errors.ts'
import type { SiteRow, VersionRow } from '../store/schema.ts'
import type { WriteTransaction } from '../store/store.ts'
import { updateReferences } from './blob-references.ts'
import { effectiveMetadata } from './page-metadata/head-metadata.ts'
import { metadataColumns } from './site-metadata.ts'

/** The version when it belongs to that site; NOT_FOUND otherwise. */
export function requireVersion<V extends { slug: string }>(version: V | undefined, slug: string): V {
  if (version?.slug !== slug) throw new ApiError('NOT_FOUND', 'The site has no such version')
  return version
}

/** VERSION_CONFLICT when a publish was based on another version than the live one. */
export function assertBaseIsLive(site: SiteRow, baseVersionId: string | null): void {
  if (baseVersionId === null || baseVersionId === site.live_version_id) return
  throw new ApiError('VERSION_CONFLICT', 'Another version went live since the one this was based on', {
    details: { currentVersionId: site.live_version_id },
  })
}

/**
 * Makes a version live by moving the site's one pointer. Metadata of the publish is applied when its version
 * goes live for the first time. An Open Graph image that the version does not contain is cleared. Encodings may
 * be missing, because the metadata has changed since they were made.
 */
export async function activateVersion(
  tx: WriteTransaction,
  site: SiteRow,
  version: VersionRow,
  now: number,
): Promise<void> {
  const first = version.published_at === null
  await tx.sites.update(site.slug, {
    ...(first ? metadataColumns(JSON.parse(version.viewer) as SiteMetadata, now) : {}),
    ...effectiveMetadata(site, version, JSON.parse(version.files) as StoredFile[]),
    live_version_id: version.id,
    previous_version_id: site.live_version_id,
    live_since: now,
    updated_at: now,
  })
  await tx.versions.update(version.id, { encoded: 0, ...(first ? { published_at: now } : {}) })
  await tx.notifyChanged(site.slug)
}

/** Deletes versions and releases the blobs that only they referenced. */
export async function deleteVersions(
  tx: WriteTransaction,
  slug: string,
  ids: readonly string[],
  now: number,
): Promise<void> {
  for (const id of ids) await tx.versions.remove(id)
  const site = await tx.sites.bySlug(slug)
  if (site?.previous_version_id && ids.includes(site.previous_version_id)) {
    await tx.sites.update(slug, { previous_version_id: null })
  }
  await updateReferences(tx, slug, now)
  await tx.notifyChanged(slug)
}
