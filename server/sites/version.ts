import { releaseHolding } from '../accounts/quotas.ts'
import { shouldPrecompress } from '../blobs/encoding.ts'
import { ApiError } from '../lib/errors.ts'
import type { ChangeEffect } from '../lib/loading-cache.ts'
import type { WriteTransaction } from '../store/store.ts'
import type { Site } from '../store/tables/sites.ts'
import type { Version } from '../store/tables/versions.ts'
import { removeVersions } from './blob-references.ts'
import { recordFormerFiles } from './former-files.ts'
import {
  effectiveMetadata,
  expiryEffect,
  type HeadMetadata,
  headMetadata,
  metadataChange,
} from './site-metadata.ts'

/** NOT_FOUND unless the version belongs to the site. */
export function requireVersion<V extends Pick<Version, 'slug' | 'state'>>(
  version: V | undefined,
  slug: string,
): V {
  if (version?.slug !== slug || version.state === 'former')
    throw new ApiError(
      'NOT_FOUND',
      'Version not found. It was deleted, or newer uploads of this site have replaced it.',
    )
  return version
}

/** SITE_PENDING unless the version is finalized. */
export function requireFinalized<V extends { state: Version['state'] }>(version: V): V {
  if (version.state === 'pending') throw new ApiError('SITE_PENDING', 'This version is not finalized yet')
  return version
}

/** VERSION_CONFLICT when a publish was based on another version than the one that it replaces. */
export function assertBaseIsCurrent(currentVersionId: string | null, baseVersionId: string | null): void {
  if (baseVersionId === null || baseVersionId === currentVersionId) return
  throw new ApiError(
    'VERSION_CONFLICT',
    'Another version was published after the version that your update is based on',
    { details: { currentVersionId } },
  )
}

/** Whether encodings of its files can be made. With metadata the root document is another one, whose size is not known yet. */
export function isEncodable(
  { files, injectedDocumentHash }: Pick<Version, 'files' | 'injectedDocumentHash'>,
  site: HeadMetadata,
): boolean {
  const isInjected = [injectedDocumentHash, ...Object.values(headMetadata(site))].some((one) => one !== null)
  return isInjected || files.some((file) => !file.coded && shouldPrecompress(file))
}

/**
 * Moves the site's one pointer. Metadata of the publish is applied when its version goes live for the first time. An
 * Open Graph image that the version does not contain is cleared. Encodings may be missing, because the metadata has
 * changed since they were made. `change` is stored with the version. Returns the site as it is then.
 */
export async function activateVersion(
  tx: WriteTransaction,
  site: Site,
  version: Version,
  { now, change = {} }: { now: number; change?: Partial<Version> },
): Promise<Site> {
  const first = version.publishedAt === null
  const replacement = { replacedId: site.liveVersionId, next: version, previewName: null }
  await recordFormerFiles(tx, site, replacement, now)
  const activated = {
    ...(first ? metadataChange(version.metadata, now) : {}),
    ...effectiveMetadata(site, version, version.files),
    liveVersionId: version.id,
    previousVersionId: site.liveVersionId,
    liveSince: now,
    updatedAt: now,
  }
  await tx.sites.update(site.slug, activated)
  await tx.versions.update(version.id, {
    ...change,
    isEncoded: !isEncodable(version, activated),
    ...(first ? { publishedAt: now, baseVersionId: site.liveVersionId } : {}),
  })
  await tx.notifyChanged(site.slug, expiryEffect(site, activated))
  return { ...site, ...activated }
}

/**
 * Also releases the blobs that only they referenced. Their addresses may be shown while the database is unreachable if
 * the change is not `withdrawn`; the site is not shown then if it is, until it can be loaded.
 */
export async function deleteVersions(
  tx: WriteTransaction,
  slug: string,
  { ids, now, effect }: { ids: readonly string[]; now: number; effect: ChangeEffect },
): Promise<void> {
  const site = await tx.sites.bySlug(slug)
  if (!site) return
  const bytes = await removeVersions(tx, site, { ids, now })
  if (site.previousVersionId && ids.includes(site.previousVersionId)) {
    await tx.sites.update(slug, { previousVersionId: null })
  }
  await tx.notifyChanged(slug, effect)
  await releaseHolding(tx, site, { bytes, sites: 0 })
}
