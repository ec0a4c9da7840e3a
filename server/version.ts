import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate as turn } from 'node:timers/promises'
import type {
  DeleteVersionAnswer,
  FinalizeAnswer,
  VersionDetails,
  VersionList,
  VersionSummary,
  Viewer,
} from '../client/wire.ts'
import type { Addresses } from './address.ts'
import type { Blobs } from './blobs/blobs.ts'
import { type Difference, difference } from './difference.ts'
import { Failure } from './failure.ts'
import type { StoredFile } from './file.ts'
import { saidWhenLive } from './front/front.ts'
import { type Fronts, upToDate } from './front/fronts.ts'
import { releaseNames } from './named-blobs.ts'
import { ownedSite } from './ownership.ts'
import type { VersionHead } from './store/queries/versions.ts'
import type { AccountRow, SiteRow, VersionRow } from './store/schema.ts'
import type { Queries, Store, Writing } from './store/store.ts'
import { iso, isoOrNull } from './time.ts'
import { viewerColumns } from './viewer.ts'
import { warningsIn } from './warnings.ts'

interface VersionsOptions {
  store: Store
  blobs: Blobs
  addresses: Addresses
  fronts: Fronts
  clock: () => number
  kept: number
}

/** What an owner does with the versions of a site (contract, "Sites"). */
export class Versions {
  readonly #store: Store
  readonly #blobs: Blobs
  readonly #addresses: Addresses
  readonly #fronts: Fronts
  readonly #clock: () => number
  /** How many finalized versions of a site are kept. */
  readonly kept: number

  constructor(options: VersionsOptions) {
    this.#store = options.store
    this.#blobs = options.blobs
    this.#addresses = options.addresses
    this.#fronts = options.fronts
    this.#clock = options.clock
    this.kept = options.kept
  }

  /** The finalized versions that are kept, drafts too, newest first. */
  async list(account: AccountRow, slug: string): Promise<VersionList> {
    const { read } = this.#store
    const site = ownedSite(await read.sites.bySlug(slug), account, this.#clock())
    const ready = (await read.versions.bySlug(slug)).filter((version) => version.state === 'ready')
    const versions: VersionSummary[] = []
    let earlier: StoredFile[] | undefined
    for (const version of ready.reverse()) {
      const files = await read.versions.filesOf(version.id)
      if (files === undefined) continue
      const own = JSON.parse(files) as StoredFile[]
      versions.push(this.#summary({ site, account, version }, earlier && difference(earlier, own)))
      earlier = own
      // A thousand versions of a thousand files would keep visitors waiting.
      await turn()
    }
    return { versions: versions.reverse() }
  }

  /** A finalized version with its files, and what is different in it than in the one made before it that is kept. */
  async details(account: AccountRow, slug: string, versionId: string): Promise<VersionDetails> {
    const { read } = this.#store
    const site = ownedSite(await read.sites.bySlug(slug), account, this.#clock())
    const version = finalized(versionOf(await read.versions.byId(versionId), slug))
    const files = JSON.parse(version.files) as StoredFile[]
    const earlier = await read.versions.before(slug, versionId)
    const before = earlier && (await read.versions.filesOf(earlier.id))
    const differs = before === undefined ? undefined : difference(JSON.parse(before) as StoredFile[], files)
    return {
      ...this.#summary({ site, account, version }, differs),
      files,
      comparedWith: (differs && earlier?.id) ?? null,
      ...(differs ?? { added: [], changed: [], removed: [] }),
    }
  }

  #summary(
    { site, account, version }: { site: SiteRow; account: AccountRow; version: VersionHead },
    differs: Difference | undefined,
  ): VersionSummary {
    return {
      versionId: version.id,
      createdAt: iso(version.created_at),
      publishedAt: isoOrNull(version.published_at),
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

  /** A kept version is live again, at once and without uploading. */
  restore(account: AccountRow, slug: string, versionId: string): Promise<FinalizeAnswer> {
    return upToDate(() => this.#restore(account, slug, versionId))
  }

  async #restore(account: AccountRow, slug: string, versionId: string): Promise<FinalizeAnswer> {
    const found = await restorable(this.#store.read, account, { slug, versionId }, this.#clock())
    await using front = await this.#fronts.make(found.site, found.version)
    return await this.#store.write('durable', async (tx) => {
      const now = this.#clock()
      const { site, version: before } = await restorable(tx, account, { slug, versionId }, now)
      const already = site.live_version_id === versionId
      const version = await this.#fronts.keep(tx, front, site, before, now)
      if (!already) await makeLive(tx, site, version, now)
      return finalizeAnswer(
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
  async remove(account: AccountRow, slug: string, versionId: string): Promise<DeleteVersionAnswer> {
    await this.#store.write('durable', async (tx) => {
      const now = this.#clock()
      const site = ownedSite(await tx.sites.bySlug(slug), account, now)
      versionOf(await tx.versions.head(versionId), slug)
      if (site.live_version_id === versionId) {
        throw new Failure('VERSION_LIVE', 'This version is live; restore another one first')
      }
      await dropVersions(tx, slug, [versionId], now)
    })
    await this.#blobs.discard(versionId)
    return { slug, versionId, deleted: true }
  }

  /** One file of the live version, or of another kept one; the caller has to destroy its body. NOT_FOUND without it. */
  async file(
    account: AccountRow,
    slug: string,
    path: string,
    versionId?: string,
  ): Promise<StoredFile & { body: Readable }> {
    const files = await this.#files(account, slug, versionId)
    const file = files.find((one) => one.path === path)
    if (!file) throw new Failure('NOT_FOUND', 'The version has no such file')
    return { ...file, body: await this.#bytes(file) }
  }

  /** The live version, or another kept one, as a tar stream (POSIX.1-2001), which the caller has to destroy. */
  async tar(account: AccountRow, slug: string, versionId?: string): Promise<Readable> {
    const files = await this.#files(account, slug, versionId)
    const { pack } = await import('tar-stream')
    const archive = pack()
    let open: Readable | undefined
    archive.once('close', () => open?.destroy())
    const fill = async () => {
      for (const file of files) {
        open = await this.#bytes(file)
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

  /** Removes the oldest versions beyond the number that is kept, never the live one. Answers how many went. */
  async prune(slug: string): Promise<number> {
    return this.#store.write('durable', async (tx) => {
      const site = await tx.sites.bySlug(slug)
      if (!site || site.gone_at !== null) return 0
      const ready = (await tx.versions.bySlug(slug)).filter((version) => version.state === 'ready')
      const others = ready.filter((version) => version.id !== site.live_version_id)
      const old = others.slice(this.kept - (site.live_version_id ? 1 : 0)).map((version) => version.id)
      if (old.length > 0) await dropVersions(tx, slug, old, this.#clock())
      return old.length
    })
  }

  async #files(account: AccountRow, slug: string, versionId: string | undefined): Promise<StoredFile[]> {
    const { read } = this.#store
    const site = ownedSite(await read.sites.bySlug(slug), account, this.#clock())
    const wanted = versionId ?? site.live_version_id
    if (wanted === null)
      throw new Failure('SITE_PENDING', 'The site was never finalized, so it has no files yet')
    const version = finalized(versionOf(await read.versions.byId(wanted), slug))
    return JSON.parse(version.files) as StoredFile[]
  }

  async #bytes(file: StoredFile): Promise<Readable> {
    const body = await this.#blobs.read(file.hash!)
    if (!body) throw new Error(`The blob ${file.hash} of '${file.path}' is missing`)
    return body
  }
}

/** A site of the account and a version of it that can be live. */
async function restorable(
  queries: Queries,
  account: AccountRow,
  { slug, versionId }: { slug: string; versionId: string },
  now: number,
): Promise<{ site: SiteRow; version: VersionRow }> {
  const site = ownedSite(await queries.sites.bySlug(slug), account, now)
  const version = versionOf(await queries.versions.byId(versionId), slug)
  if (version.state === 'pending') {
    throw new Failure('UPLOADS_MISSING', 'This version was never finalized; finalize it instead')
  }
  return { site, version }
}

/** The version when it belongs to that site; NOT_FOUND otherwise. */
export function versionOf<V extends { slug: string }>(version: V | undefined, slug: string): V {
  if (version?.slug !== slug) throw new Failure('NOT_FOUND', 'The site has no such version')
  return version
}

function finalized<V extends { state: VersionRow['state'] }>(version: V): V {
  if (version.state === 'pending') throw new Failure('SITE_PENDING', 'This version is not finalized yet')
  return version
}

/** VERSION_CONFLICT when a publish was based on another version than the live one. */
export function refuseOtherBase(site: SiteRow, baseVersionId: string | null): void {
  if (baseVersionId === null || baseVersionId === site.live_version_id) return
  throw new Failure('VERSION_CONFLICT', 'Another version went live since the one this was based on', {
    details: { currentVersionId: site.live_version_id },
  })
}

/**
 * Moves the site's one pointer to a version. What the publish said about the site is applied when its version
 * goes live for the first time. An Open Graph image that the version does not have is cleared.
 */
export async function makeLive(tx: Writing, site: SiteRow, version: VersionRow, now: number): Promise<void> {
  const first = version.published_at === null
  await tx.sites.update(site.slug, {
    ...(first ? viewerColumns(JSON.parse(version.viewer) as Viewer, now) : {}),
    ...saidWhenLive(site, version),
    live_version_id: version.id,
    previous_version_id: site.live_version_id,
    live_since: now,
    updated_at: now,
  })
  if (first) await tx.versions.update(version.id, { published_at: now })
  await tx.changed(site.slug)
}

/** Removes versions and lets go of the blobs that only they named. */
export async function dropVersions(
  tx: Writing,
  slug: string,
  ids: readonly string[],
  now: number,
): Promise<void> {
  for (const id of ids) await tx.versions.remove(id)
  const site = await tx.sites.bySlug(slug)
  if (site?.previous_version_id && ids.includes(site.previous_version_id)) {
    await tx.sites.update(slug, { previous_version_id: null })
  }
  await releaseNames(tx, slug, now)
  await tx.changed(slug)
}

/** The answer of finalize and of everything that ends like it (contract, "Finalize"). */
export function finalizeAnswer(
  addresses: Addresses,
  site: Pick<SiteRow, 'slug' | 'live_version_id'>,
  version: Pick<VersionRow, 'id' | 'warnings'>,
  more: { previousVersionId: string | null; replayed?: boolean },
): FinalizeAnswer {
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
    ...(version.warnings === null ? {} : { warnings: warningsIn(version.warnings) }),
  }
}
