import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate as turn } from 'node:timers/promises'
import type { FinalizeResponse, SiteMetadata } from '../../protocol/api/publish.ts'
import type {
  DeleteVersionResponse,
  VersionDetails,
  VersionList,
  VersionSummary,
} from '../../protocol/api/sites.ts'
import type { StoredFile } from '../../protocol/manifest/manifest.ts'
import { requireOwner } from '../accounts/authorization.ts'
import type { Blobs } from '../blobs/blobs.ts'
import { ApiError } from '../lib/errors.ts'
import { toIso, toIsoOrNull } from '../lib/time.ts'
import type { VersionSummaryRow } from '../store/queries/versions.ts'
import type { AccountRow, SiteRow, VersionRow } from '../store/schema.ts'
import type { Queries, Store, WriteTransaction } from '../store/store.ts'
import { updateReferences } from './blob-references.ts'
import { diffManifests, type ManifestDiff } from './manifest-diff.ts'
import { type IndexRenderer, retryOnConflict } from './page-metadata/document-renderer.ts'
import { effectiveMetadata } from './page-metadata/rendered-document.ts'
import { metadataColumns } from './site-metadata.ts'
import type { UrlBuilder } from './urls.ts'
import { parseWarnings } from './warnings.ts'

interface VersionsOptions {
  store: Store
  blobs: Blobs
  addresses: UrlBuilder
  indexRenderer: IndexRenderer
  clock: () => number
  maxVersions: number
}

/** Operations of an owner on the versions of a site (contract, "Sites"). */
export class Versions {
  readonly #store: Store
  readonly #blobs: Blobs
  readonly #addresses: UrlBuilder
  readonly #indexRenderer: IndexRenderer
  readonly #clock: () => number
  /** Number of finalized versions of a site that are kept. */
  readonly maxVersions: number

  constructor(options: VersionsOptions) {
    this.#store = options.store
    this.#blobs = options.blobs
    this.#addresses = options.addresses
    this.#indexRenderer = options.indexRenderer
    this.#clock = options.clock
    this.maxVersions = options.maxVersions
  }

  /** The kept finalized versions, drafts included, newest first. */
  async list(account: AccountRow, slug: string): Promise<VersionList> {
    const { read } = this.#store
    const site = requireOwner(await read.sites.bySlug(slug), account, this.#clock())
    const ready = (await read.versions.bySlug(slug)).filter((version) => version.state === 'ready')
    const versions: VersionSummary[] = []
    let earlier: StoredFile[] | undefined
    for (const version of ready.reverse()) {
      const files = await read.versions.filesOf(version.id)
      if (files === undefined) continue
      const own = JSON.parse(files) as StoredFile[]
      versions.push(this.#summary({ site, account, version }, earlier && diffManifests(earlier, own)))
      earlier = own
      // Yields: a thousand versions of a thousand files would delay visitors.
      await turn()
    }
    return { versions: versions.reverse() }
  }

  /** A finalized version with its files, and the differences from the previous kept one. */
  async details(account: AccountRow, slug: string, versionId: string): Promise<VersionDetails> {
    const { read } = this.#store
    const site = requireOwner(await read.sites.bySlug(slug), account, this.#clock())
    const version = requireFinalized(requireVersion(await read.versions.byId(versionId), slug))
    const files = JSON.parse(version.files) as StoredFile[]
    const earlier = await read.versions.previousOf(slug, versionId)
    const before = earlier && (await read.versions.filesOf(earlier.id))
    const differs =
      before === undefined ? undefined : diffManifests(JSON.parse(before) as StoredFile[], files)
    return {
      ...this.#summary({ site, account, version }, differs),
      files,
      comparedWith: (differs && earlier?.id) ?? null,
      ...(differs ?? { added: [], changed: [], removed: [] }),
    }
  }

  #summary(
    { site, account, version }: { site: SiteRow; account: AccountRow; version: VersionSummaryRow },
    differs: ManifestDiff | undefined,
  ): VersionSummary {
    return {
      versionId: version.id,
      createdAt: toIso(version.created_at),
      publishedAt: toIsoOrNull(version.published_at),
      publishedBy: version.published_by === account.id ? account.email : null,
      publishedWith: version.published_with,
      fileCount: version.file_count,
      totalBytes: version.total_bytes,
      current: version.id === site.live_version_id,
      previewUrl: this.#addresses.preview(site.slug, version.id),
      changes: differs
        ? {
            added: differs.added.length,
            changed: differs.changed.length,
            removed: differs.removed.length,
          }
        : null,
    }
  }

  /** Makes a kept version live again, at once and without uploading. */
  restore(account: AccountRow, slug: string, versionId: string): Promise<FinalizeResponse> {
    return retryOnConflict(() => this.#restore(account, slug, versionId))
  }

  async #restore(account: AccountRow, slug: string, versionId: string): Promise<FinalizeResponse> {
    const found = await requireRestorable(this.#store.read, account, { slug, versionId }, this.#clock())
    await using front = await this.#indexRenderer.render(found.site, found.version)
    return await this.#store.write('durable', async (tx) => {
      const now = this.#clock()
      const { site, version: before } = await requireRestorable(tx, account, { slug, versionId }, now)
      const already = site.live_version_id === versionId
      const version = await this.#indexRenderer.commit(tx, front, site, before, now)
      if (!already) await activateVersion(tx, site, version, now)
      return buildFinalizeResponse(
        this.#addresses,
        already ? site : { ...site, live_version_id: versionId },
        version,
        {
          previousVersionId: already ? site.previous_version_id : site.live_version_id,
          replayed: already,
        },
      )
    })
  }

  /** Deletes a version for good; VERSION_LIVE for the live one. */
  async remove(account: AccountRow, slug: string, versionId: string): Promise<DeleteVersionResponse> {
    await this.#store.write('durable', async (tx) => {
      const now = this.#clock()
      const site = requireOwner(await tx.sites.bySlug(slug), account, now)
      requireVersion(await tx.versions.summary(versionId), slug)
      if (site.live_version_id === versionId) {
        throw new ApiError('VERSION_LIVE', 'This version is live; restore another one first')
      }
      await deleteVersions(tx, slug, [versionId], now)
    })
    await this.#blobs.discard(versionId)
    return { slug, versionId, deleted: true }
  }

  /**
   * One file of the live version, or of another kept one; the caller must destroy its body. NOT_FOUND without
   * it.
   */
  async file(
    account: AccountRow,
    slug: string,
    path: string,
    versionId?: string,
  ): Promise<StoredFile & { body: Readable }> {
    const files = await this.#files(account, slug, versionId)
    const file = files.find((one) => one.path === path)
    if (!file) throw new ApiError('NOT_FOUND', 'The version has no such file')
    return { ...file, body: await this.#openBlob(file) }
  }

  /** The live version, or another kept one, as a tar stream (POSIX.1-2001), which the caller must destroy. */
  async tar(account: AccountRow, slug: string, versionId?: string): Promise<Readable> {
    const files = await this.#files(account, slug, versionId)
    const { pack } = await import('tar-stream')
    const archive = pack()
    let open: Readable | undefined
    archive.once('close', () => open?.destroy())
    const fill = async () => {
      for (const file of files) {
        open = await this.#openBlob(file)
        if (archive.destroying) return void open.destroy()
        const mtime = new Date(this.#clock())
        const entry = archive.entry({ name: file.path, size: file.size, mode: 0o644, mtime })
        await pipeline(open, entry)
      }
      archive.finalize()
    }
    fill().catch((error: Error) => archive.destroy(error))
    return Readable.from(archive)
  }

  /** Deletes the oldest versions beyond the number that is kept, never the live one. Returns how many. */
  async prune(slug: string): Promise<number> {
    return this.#store.write('durable', async (tx) => {
      const site = await tx.sites.bySlug(slug)
      if (!site || site.gone_at !== null) return 0
      const ready = (await tx.versions.bySlug(slug)).filter((version) => version.state === 'ready')
      const others = ready.filter((version) => version.id !== site.live_version_id)
      const old = others.slice(this.maxVersions - (site.live_version_id ? 1 : 0)).map((version) => version.id)
      if (old.length > 0) await deleteVersions(tx, slug, old, this.#clock())
      return old.length
    })
  }

  async #files(account: AccountRow, slug: string, versionId: string | undefined): Promise<StoredFile[]> {
    const { read } = this.#store
    const site = requireOwner(await read.sites.bySlug(slug), account, this.#clock())
    const wanted = versionId ?? site.live_version_id
    if (wanted === null)
      throw new ApiError('SITE_PENDING', 'The site was never finalized, so it has no files yet')
    const version = requireFinalized(requireVersion(await read.versions.byId(wanted), slug))
    return JSON.parse(version.files) as StoredFile[]
  }

  async #openBlob(file: StoredFile): Promise<Readable> {
    const body = await this.#blobs.read(file.hash!)
    if (!body) throw new Error(`The blob ${file.hash} of '${file.path}' is missing`)
    return body
  }
}

/** A site of the account and a version of it that can become live. */
async function requireRestorable(
  queries: Queries,
  account: AccountRow,
  { slug, versionId }: { slug: string; versionId: string },
  now: number,
): Promise<{ site: SiteRow; version: VersionRow }> {
  const site = requireOwner(await queries.sites.bySlug(slug), account, now)
  const version = requireVersion(await queries.versions.byId(versionId), slug)
  if (version.state === 'pending') {
    throw new ApiError('UPLOADS_MISSING', 'This version was never finalized; finalize it instead')
  }
  return { site, version }
}

/** The version when it belongs to that site; NOT_FOUND otherwise. */
export function requireVersion<V extends { slug: string }>(version: V | undefined, slug: string): V {
  if (version?.slug !== slug) throw new ApiError('NOT_FOUND', 'The site has no such version')
  return version
}

function requireFinalized<V extends { state: VersionRow['state'] }>(version: V): V {
  if (version.state === 'pending') throw new ApiError('SITE_PENDING', 'This version is not finalized yet')
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
 * goes live for the first time. An Open Graph image that the version does not contain is cleared.
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
    ...effectiveMetadata(site, version),
    live_version_id: version.id,
    previous_version_id: site.live_version_id,
    live_since: now,
    updated_at: now,
  })
  if (first) await tx.versions.update(version.id, { published_at: now })
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

/** The response of finalize and of operations that end like it (contract, "Finalize"). */
export function buildFinalizeResponse(
  addresses: UrlBuilder,
  site: Pick<SiteRow, 'slug' | 'live_version_id'>,
  version: Pick<VersionRow, 'id' | 'warnings'>,
  more: { previousVersionId: string | null; replayed?: boolean },
): FinalizeResponse {
  return {
    success: true,
    slug: site.slug,
    siteUrl: addresses.site(site.slug),
    status: site.live_version_id ? 'active' : 'pending',
    versionId: version.id,
    currentVersionId: site.live_version_id,
    previousVersionId: more.previousVersionId,
    previewUrl: addresses.preview(site.slug, version.id),
    ...(more.replayed ? { replayed: true } : {}),
    ...(version.warnings === null ? {} : { warnings: parseWarnings(version.warnings) }),
  }
}
