import { normalizeNfc } from '../../protocol/manifest/unicode.ts'
import { releaseHolding } from '../accounts/quotas.ts'
import { shouldPrecompress } from '../blobs/encoding.ts'
import { ApiError } from '../lib/errors.ts'
import type { ChangeEffect } from '../lib/loading-cache.ts'
import { HOUR_MS, SECOND_MS } from '../lib/time.ts'
import { newId } from '../lib/tokens.ts'
import type { Queries } from '../store/queries.ts'
import type { Durability, Store, WriteTransaction } from '../store/store.ts'
import type { Site } from '../store/tables/sites.ts'
import {
  emptyVersion,
  type FormerFile,
  type FormerFiles,
  type ManifestFile,
  sumUploads,
  type Version,
  type VersionHeader,
} from '../store/tables/versions.ts'
import { expiryEffect, type HeadMetadata, headMetadata, metadataChange } from './site-metadata.ts'

const FILES_PER_WRITE = 2000
const VERSIONS_PER_WRITE = 40

/** NOT_FOUND unless the version belongs to the site. */
export function requireVersion<V extends Pick<Version, 'slug' | 'state'>>(
  version: V | undefined,
  slug: string,
): V {
  if (version?.slug !== slug || version.state === 'former') {
    const sentence = 'Version not found. It was deleted, or newer uploads of this site have replaced it.'
    throw new ApiError('NOT_FOUND', sentence)
  }
  return version
}

/** SITE_PENDING unless the version is finalized. */
export function requireFinalized<V extends { state: Version['state'] }>(version: V): V {
  if (version.state === 'pending') throw new ApiError('SITE_PENDING', 'This version is not finalized yet')
  return version
}

/** VERSION_CONFLICT; its content hash lets a publisher recognize its own version, whose response it did not get. */
export async function assertBaseIsCurrent(
  { versions }: Queries,
  currentVersionId: string | null,
  baseVersionId: string | null,
): Promise<void> {
  if (baseVersionId === null || baseVersionId === currentVersionId) return
  const current = currentVersionId === null ? undefined : await versions.header(currentVersionId)
  const sentence = 'Another version was published after the version that your update is based on'
  const details = { currentVersionId, ...(current && { contentHash: current.contentHash }) }
  throw new ApiError('VERSION_CONFLICT', sentence, { details })
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
 * Moves the site's one pointer. Metadata of the publish is applied when its version goes live for the first time.
 * Encodings may be missing, because the metadata has changed since they were made. `change` is stored with the version.
 * Returns the site as it is then.
 */
export async function activateVersion(
  tx: WriteTransaction,
  site: Site,
  version: Version,
  options: { now: number; change?: Partial<Version>; previousVersionId?: string | null },
): Promise<Site> {
  const { now, change = {}, previousVersionId = site.liveVersionId } = options
  const first = version.publishedAt === null
  const changedAt = site.liveSince === null ? 0 : Math.max(site.liveSince, site.updatedAt)
  const activated = {
    ...(first ? metadataChange(version.metadata, now) : {}),
    isFinalized: true,
    liveVersionId: version.id,
    previousVersionId,
    // `Last-Modified` has whole seconds (RFC 9110, 8.8.2): the one of what visitors saw until then is another one.
    liveSince: Math.max(now, SECOND_MS * Math.floor(changedAt / SECOND_MS + 1)),
    updatedAt: now,
  }
  await tx.sites.update(site.slug, activated)
  await tx.versions.update(version.id, {
    ...change,
    isEncoded: !isEncodable(version, { ...site, ...activated }),
    lastLiveAt: now,
    ...(first ? { publishedAt: now, baseVersionId: site.liveVersionId } : {}),
  })
  const replacement = { replacedId: site.liveVersionId, next: version, previewName: null }
  await recordFormerFiles(tx, site, replacement, now)
  await tx.notifyChanged(site.slug, expiryEffect(site, activated))
  return { ...site, ...activated }
}

/**
 * Also releases the blobs that only they referenced. A rollback takes what a deleted version had replaced. Their
 * addresses may be shown while the database is unreachable if the change is not `withdrawn`; the site is not shown then
 * if it is, until it can be loaded.
 */
export async function deleteVersions(
  tx: WriteTransaction,
  slug: string,
  { ids, now, effect }: { ids: readonly string[]; now: number; effect: ChangeEffect },
): Promise<void> {
  const site = await tx.sites.find(slug)
  if (!site) return
  if (site.previousVersionId && ids.includes(site.previousVersionId)) {
    const versions = await tx.versions.bySlug(slug)
    const deleted = versions.find(({ id }) => id === site.previousVersionId)!
    const others = versions.filter(
      ({ id, state }) => state === 'ready' && id !== site.liveVersionId && !ids.includes(id),
    )
    const previousVersionId = findReplaced(others, deleted, deleted.baseVersionId)?.id ?? null
    await tx.sites.update(slug, { previousVersionId })
  }
  const bytes = await removeVersions(tx, site, { ids, now })
  await tx.notifyChanged(slug, effect)
  await releaseHolding(tx, site, { bytes, sites: 0 })
}

/** With the lock of the site of a version, which may have been renamed since. Of a deleted version, `work` gets undefined. */
export async function writeOfVersion<T>(
  store: Store,
  durability: Durability,
  { id, slug }: Pick<Version, 'id' | 'slug'>,
  work: (tx: WriteTransaction, version: Version | undefined) => Promise<T>,
): Promise<T> {
  for (let site = slug; ; ) {
    const outcome = await store.write(durability, { site }, async (tx) => {
      const version = await tx.versions.find(id)
      return version && version.slug !== site ? { site: version.slug } : { result: await work(tx, version) }
    })
    if ('result' in outcome) return outcome.result
    site = outcome.site
  }
}

/** Durable, with the lock of its site; nothing when it is not pending any more. */
export async function writeWithPending(
  store: Store,
  id: string,
  work: (tx: WriteTransaction, slug: string) => Promise<void>,
): Promise<void> {
  const found = await store.read.versions.header(id)
  if (!found) return
  await writeOfVersion(store, 'durable', found, async (tx, version) => {
    if (version?.state === 'pending') await work(tx, version.slug)
  })
}

/** The version with this id, which `version` replaced; the one that went live before it where that is not kept. */
export function findReplaced(
  versions: readonly VersionHeader[],
  { publishedAt: before }: VersionHeader,
  replacedId: string | null,
): VersionHeader | undefined {
  const earlier = versions.filter(
    ({ publishedAt }) => before !== null && publishedAt !== null && publishedAt < before,
  )
  return (
    versions.find(({ id }) => id === replacedId) ??
    earlier.sort((a, b) => b.publishedAt! - a.publishedAt!).at(0)
  )
}

/** The bytes of contents that a site references first or no longer, without those that another site of its owner has. */
export async function countNewBytes(
  tx: WriteTransaction,
  { visitsKey, ownerId }: Pick<Site, 'visitsKey' | 'ownerId'>,
  contents: readonly { hash: string; size: number }[],
): Promise<number> {
  const sizes = new Map(contents.map(({ hash, size }) => [hash, size]))
  const hashes = [...sizes.keys()]
  const others =
    ownerId === null || hashes.length === 0
      ? undefined
      : await tx.references.heldBeside(visitsKey, ownerId, hashes)
  return hashes.reduce((sum, hash) => (others?.has(hash) ? sum : sum + sizes.get(hash)!), 0)
}

/** Removes references to those blobs that no version of the site needs any more. Returns them. */
export async function releaseBlobs(
  tx: WriteTransaction,
  { slug, visitsKey }: Pick<Site, 'slug' | 'visitsKey'>,
  { hashes, now }: { hashes: readonly string[]; now: number },
): Promise<{ hash: string; size: number }[]> {
  const needed = await tx.versions.neededAmong(slug, hashes)
  const unneeded = new Set(hashes.filter((hash) => !needed.has(hash)))
  return unneeded.size > 0 ? tx.blobs.removeReferences(visitsKey, [...unneeded], now) : []
}

/** The first of these, at least one: a deletion of more holds the store, and contents for which others wait. */
export function takeForWrite(versions: readonly VersionHeader[]): VersionHeader[] {
  let size = 0
  const end = versions.findIndex(({ state, fileCount }, index) => {
    size += state === 'former' ? FILES_PER_WRITE : Math.max(fileCount, FILES_PER_WRITE / VERSIONS_PER_WRITE)
    return index > 0 && size > FILES_PER_WRITE
  })
  return versions.slice(0, end < 0 ? undefined : end)
}

/** Returns the bytes that the caller releases for the holder. Injected documents do not count. */
export async function removeVersions(
  tx: WriteTransaction,
  site: Pick<Site, 'slug' | 'visitsKey' | 'ownerId'>,
  { ids, now }: { ids: readonly string[]; now: number },
): Promise<number> {
  const counted = new Set<string>()
  const documents: string[] = []
  let versionBytes = 0
  for (const id of ids) {
    const { hashes, injectedDocumentHash, uploadBytes, recordBytes } = await tx.versions.remove(id)
    for (const hash of hashes) counted.add(hash)
    if (injectedDocumentHash !== null) documents.push(injectedDocumentHash)
    versionBytes += uploadBytes + (site.ownerId === null ? recordBytes : 0)
  }
  const released = await releaseBlobs(tx, site, { hashes: [...new Set([...counted, ...documents])], now })
  const contents = released.filter(({ hash }) => counted.has(hash))
  return versionBytes + (await countNewBytes(tx, site, contents))
}

/** For a network only, which could otherwise store any number of long manifests of short files. */
export async function countRecord(
  { versions }: Queries,
  { ownerId }: Pick<Site, 'ownerId'>,
  id: string,
): Promise<number> {
  return ownerId === null ? versions.recordBytes(id) : 0
}

/** What versions count beside their contents: uploads that are not finalized, and `countRecord`. */
export async function sumVersions(
  queries: Queries,
  { slug, ownerId }: Pick<Site, 'slug' | 'ownerId'>,
): Promise<number> {
  const { versions } = queries
  let sum = 0
  for (const { id, state } of await versions.bySlug(slug)) {
    if (state === 'pending') sum += sumUploads(state, (await versions.findFiles(id)) ?? [])
    sum += await countRecord(queries, { ownerId }, id)
  }
  return sum
}

/** Contract, "Serving", 4. */
const FORMER_FILES_TTL_MS = HOUR_MS

/** Beyond it, those that went away first are dropped. */
const MAX_FORMER_FILES = 5000

interface Replacement {
  /** The version that visitors see before, if any. */
  replacedId: string | null
  next: Pick<Version, 'files' | 'changes'>
  /** Null for the site itself. */
  previewName: string | null
}

/** Call it once the hashes of the next version are stored, and before the version that it replaces is deleted. */
export async function recordFormerFiles(
  tx: WriteTransaction,
  site: Site,
  { replacedId, next, previewName }: Replacement,
  now: number,
): Promise<void> {
  if (replacedId === null) return
  const former = (await tx.versions.listFormer(site.slug)).find((one) => one.previewName === previewName)
  const { comparedWith, removed } = next.changes ?? {}
  const isNothingGone = comparedWith === replacedId && removed === 0
  if (isNothingGone && !former) return
  const replaced = isNothingGone ? [] : ((await tx.versions.findFiles(replacedId)) ?? [])
  const paths = new Set(next.files.map(({ path }) => path))
  const gone = replaced
    .filter(({ path }) => !paths.has(path))
    .map((file): FormerFile => ({ ...file, ...nfcOf(file.path), until: now + FORMER_FILES_TTL_MS }))
  for (const { path } of gone) paths.add(path)
  const others = former?.files.filter(({ path, until }) => until > now && !paths.has(path)) ?? []
  const files = [...gone, ...others].slice(0, MAX_FORMER_FILES)
  if (gone.length > 0 || others.length < (former?.files.length ?? 0))
    await setFormerFiles(tx, site, { former, previewName, files }, now)
}

/** Normalizes here, as thousands of names in each load of a site would take too long. */
function nfcOf(path: string): Pick<FormerFile, 'nfc'> {
  const nfc = normalizeNfc(path)
  return nfc === path ? {} : { nfc }
}

export async function forgetFormerOfPreview(
  tx: WriteTransaction,
  site: Site,
  previewName: string,
  now: number,
): Promise<void> {
  for (const former of await tx.versions.listFormer(site.slug))
    if (former.previewName === previewName)
      await setFormerFiles(tx, site, { former, previewName, files: [] }, now)
}

/** Forgets the files of a version that its owner deletes, except those that another version has. */
export async function forgetFormerFiles(
  tx: WriteTransaction,
  site: Site,
  versionId: string,
  now: number,
): Promise<void> {
  const records = await tx.versions.listFormer(site.slug)
  if (records.length === 0) return
  const forgotten = await listFiles(tx, versionId)
  for (const { id, state } of await tx.versions.bySlug(site.slug))
    if (state === 'ready' && id !== versionId)
      for (const file of await listFiles(tx, id)) forgotten.delete(file)
  for (const former of records) {
    const { previewName } = former
    const files = former.files.filter((file) => !forgotten.has(identify(file)))
    if (files.length < former.files.length)
      await setFormerFiles(tx, site, { former, previewName, files }, now)
  }
}

async function listFiles({ versions }: WriteTransaction, id: string): Promise<Set<string>> {
  return new Set((await versions.findFiles(id))?.map(identify))
}

function identify({ path, hash }: ManifestFile): string {
  return `${hash} ${path}`
}

/** Replaces the former files, and releases those that no version needs. */
async function setFormerFiles(
  tx: WriteTransaction,
  site: Site,
  change: { former: FormerFiles | undefined; previewName: string | null; files: readonly FormerFile[] },
  now: number,
): Promise<void> {
  const { former, previewName, files } = change
  const { slug } = site
  const [last] = files
  if (last && former) await tx.versions.update(former.id, { files, previewUntil: last.until })
  else if (last)
    await tx.rows.insert('versions', {
      ...emptyVersion(newId(now), slug, now),
      state: 'former',
      previewName,
      files,
      previewUntil: last.until,
    })
  else if (former) await tx.versions.remove(former.id)
  const kept = new Set(files.map(({ hash }) => hash))
  const dropped = new Set(former?.files.flatMap(({ hash }) => (kept.has(hash) ? [] : hash!)))
  if (dropped.size === 0) return
  const released = await releaseBlobs(tx, site, { hashes: [...dropped], now })
  await releaseHolding(tx, site, { bytes: await countNewBytes(tx, site, released), sites: 0 })
}
