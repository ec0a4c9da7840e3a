import { createHash } from 'node:crypto'
import type { StoredFile } from '../../protocol/manifest/manifest.ts'
import { isShown, renewedPreview } from '../sites/preview.ts'
import { metadataChange } from '../sites/site-metadata.ts'
import { deleteVersions } from '../sites/version.ts'
import type { WriteTransaction } from '../store/store.ts'
import type { Site } from '../store/tables/sites.ts'
import type { Version } from '../store/tables/versions.ts'

/**
 * Deletes a version that was never live if its files equal those of the live version and its metadata that of the site.
 * Returns the live version if so. A preview is compared with the version that it shows, whose time begins again.
 * `files` have all their hashes.
 */
export async function dropIfUnchanged(
  tx: WriteTransaction,
  { site, version, files }: { site: Site; version: Version; files: readonly StoredFile[] },
  now: number,
): Promise<Version | undefined> {
  const current = await findCurrent(tx, site, version, now)
  // Rules are parsed from files of the version, so equal files have equal rules.
  if (!current || !areEqual(files, current.files)) return undefined
  await deleteVersions(tx, site.slug, { ids: [version.id], now, effect: 'outdated' })
  // The live version may also be a preview, of which the caller knows nothing.
  if (version.previewName === null) return { ...current, previewName: null, previewUntil: null }
  const { previewUntil } = renewedPreview(version, now)
  await tx.versions.update(current.id, { previewUntil })
  return { ...current, previewUntil }
}

/** The version that visitors see, if it has the metadata of this one. */
async function findCurrent(
  tx: WriteTransaction,
  site: Site,
  version: Version,
  now: number,
): Promise<Version | undefined> {
  const { previewName } = version
  if (previewName === null) {
    if (site.liveVersionId === null || changesMetadata(site, version, now)) return undefined
    return tx.versions.byId(site.liveVersionId)
  }
  const header = await tx.versions.findPreview(site.slug, previewName)
  if (!header || !isShown(header, now) || header.liveReload !== version.liveReload) return undefined
  const shown = await tx.versions.byId(header.id)
  return JSON.stringify(shown?.metadata) === JSON.stringify(version.metadata) ? shown : undefined
}

/** Equal for equal paths, bytes and content types, in any order. `files` have all their hashes. */
export function hashContents(files: readonly StoredFile[]): string {
  const lines = files.map(({ path, hash, contentType }) => JSON.stringify([path, hash, contentType]))
  return createHash('sha256').update(lines.sort().join('\n')).digest('hex')
}

/** A time to live counts from the publish, so a new one always changes the expiry. */
function changesMetadata(site: Site, { metadata }: Version, now: number): boolean {
  const change = metadataChange(metadata, now)
  return (Object.keys(change) as (keyof Site)[]).some((field) => change[field] !== site[field])
}

/** Compares paths, bytes and content types in any order. */
function areEqual(files: readonly StoredFile[], others: readonly StoredFile[]): boolean {
  if (files.length !== others.length) return false
  const byPath = new Map(others.map((file) => [file.path, file]))
  return files.every(({ path, hash, contentType }) => {
    const other = byPath.get(path)
    return other?.hash === hash && other?.contentType === contentType
  })
}
