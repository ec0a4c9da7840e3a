import type { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { type FileChanges, PREVIOUS_VERSION } from '../../protocol/api/fields.schema.ts'
import type { FinalizeResponse, PublishWarning } from '../../protocol/api/publish.schema.ts'
import type {
  DeleteVersionResponse,
  VersionDetails,
  VersionList,
  VersionSummary,
} from '../../protocol/api/versions.schema.ts'
import type { StoredFile } from '../../protocol/manifest/manifest.ts'
import { countChanges, diffManifests } from '../../protocol/manifest/manifest-diff.ts'
import { normalizeNfc } from '../../protocol/manifest/unicode.ts'
import {
  assertPermitted,
  type Caller,
  publishScope,
  requireAccess,
  requireAccount,
} from '../accounts/authorization.ts'
import { DEFAULT_PLAN, type Plan, type Plans } from '../accounts/plans.ts'
import type { BlobReader } from '../blobs/blob-reader.ts'
import { Component } from '../lib/component.ts'
import { ApiError } from '../lib/errors.ts'
import { listPages } from '../lib/list-pages.ts'
import { toIso, toIsoOrNull } from '../lib/time.ts'
import type { Parts } from '../parts.ts'
import type { KeptVersions } from '../store/queries/versions.ts'
import type { Queries } from '../store/queries.ts'
import type { Account } from '../store/tables/accounts.ts'
import type { Site } from '../store/tables/sites.ts'
import type { Version, VersionHeader } from '../store/tables/versions.ts'
import { injectionWarnings } from './page-metadata/injected-document.ts'
import { describePreview, endPreview, removeReview, requireApproval } from './preview.ts'
import { chosenMetadata, findInjection, hasImage } from './site-metadata.ts'
import type { UrlBuilder } from './urls.ts'
import {
  activateVersion,
  assertBaseIsCurrent,
  deleteVersions,
  findReplaced,
  forgetFormerFiles,
  requireFinalized,
  requireVersion,
  takeForWrite,
} from './version.ts'
import { createTar, createZip } from './version-archive.ts'

const SITES_PER_PAGE = 500

type VersionsParts = Pick<Parts, 'store' | 'addresses' | 'clock' | 'plans'> & {
  blobs: BlobReader
  precompressor: { enqueue(slug: string, versionId: string): void }
  draftLifetime: number
}

/** Contract, "Sites". */
export class Versions extends Component<VersionsParts> {
  readonly draftLifetimeSeconds = this.parts.draftLifetime

  /** Drafts included, newest first. */
  async list(account: Account, slug: string): Promise<VersionList> {
    return { slug, versions: await this.summarize(account, slug, () => true) }
  }

  /** Finalized, newest first. */
  async summarize(
    account: Account,
    slug: string,
    isWanted: (version: VersionHeader) => boolean,
  ): Promise<VersionSummary[]> {
    const { read } = this.parts.store
    const site = await requireAccess(read, 'read', { slug, account, now: this.parts.clock() })
    const ready = await listReady(read, slug)
    const wanted = ready.filter(isWanted)
    const authors = await findAuthors(read, wanted)
    const versions: VersionSummary[] = []
    for (const version of wanted) {
      const changes = await this.#countChanges(version, findBase(ready, site, version))
      versions.push(this.#summary({ site, authors, version }, changes))
    }
    return versions
  }

  /** Includes its files, and the differences from the version that it replaced. */
  async details(account: Account, slug: string, versionId: string): Promise<VersionDetails> {
    const { read } = this.parts.store
    const site = await requireAccess(read, 'read', { slug, account, now: this.parts.clock() })
    const version = requireFinalized(requireVersion(await read.versions.find(versionId), slug))
    const files = version.files
    const base = findBase(await listReady(read, slug), site, version)
    const before = base && (await read.versions.findFiles(base.id))
    const differs = before === undefined ? undefined : diffManifests(before, files)
    const changes = differs && countChanges(differs)
    return {
      slug,
      ...this.#summary({ site, authors: await findAuthors(read, [version]), version }, changes),
      files: files.map(({ path, size, contentType, hash }) => ({ path, size, contentType, hash: hash! })),
      comparedWith: (differs && base?.id) ?? null,
      ...(differs ?? { added: [], changed: [], removed: [] }),
    }
  }

  /** As counted at staging, if that was against this base; otherwise both manifests are compared. */
  async #countChanges(
    { id, changes }: VersionHeader,
    base: VersionHeader | undefined,
  ): Promise<FileChanges | undefined> {
    if (base === undefined) return undefined
    if (changes?.comparedWith === base.id) {
      const { added, changed, removed } = changes
      return { added, changed, removed }
    }
    const { versions } = this.parts.store.read
    const [before, after] = [await versions.findFiles(base.id), await versions.findFiles(id)]
    // Yields: a thousand versions of a thousand files would delay visitors.
    await turn()
    return before && after && countChanges(diffManifests(before, after))
  }

  #summary(
    { site, authors, version }: { site: Site; authors: Authors; version: VersionHeader },
    changes: FileChanges | undefined,
  ): VersionSummary {
    return {
      versionId: version.id,
      createdAt: toIso(version.createdAt),
      publishedAt: toIsoOrNull(version.publishedAt),
      publishedBy: (version.publishedBy && authors.get(version.publishedBy)) ?? null,
      publishedWith: version.publishedWith,
      publishedClient: version.publishedClient,
      fileCount: version.fileCount,
      totalBytes: version.totalBytes,
      current: version.id === site.liveVersionId,
      previewUrl: this.parts.addresses.preview(site.slug, version.id),
      preview: describePreview(this.parts.addresses, version) ?? null,
      message: version.message,
      thumbnailUrl: this.parts.addresses.thumbnail(version),
      changes: changes ?? null,
    }
  }

  /** Immediately, without uploading. VERSION_CONFLICT when the live version is not the base; APPROVAL_REQUIRED. */
  async restore(
    account: Account,
    slug: string,
    which: RestoredVersion,
    baseVersionId?: string,
  ): Promise<FinalizeResponse> {
    const { store, addresses, blobs, clock, precompressor } = this.parts
    const { site, version, restored } = await store.write('durable', { site: slug }, async (tx) => {
      const now = clock()
      const site = await requireAccess(tx, 'publish', { slug, account, now })
      const { version, previousVersionId } = await requireRestorable(tx, site, which)
      if (site.liveVersionId === version.id) return { site, version, restored: site }
      await assertBaseIsCurrent(tx, site.liveVersionId, baseVersionId ?? null)
      const restored = await activateVersion(tx, site, version, { now, previousVersionId })
      return { site, version, restored }
    })
    precompressor.enqueue(slug, version.id)
    const replayed = site.liveVersionId === version.id
    // After a step back, the site's previous version is an older one than what this restore replaced.
    const previousVersionId = replayed ? null : site.liveVersionId
    return buildFinalizeResponse({ addresses, blobs }, restored, version, { previousVersionId, replayed })
  }

  /** Permanently; VERSION_LIVE for the live version. The scope that publishes a version can end its publish. */
  async remove(caller: Caller, slug: string, versionId: string): Promise<DeleteVersionResponse> {
    await this.parts.store.write('durable', { site: slug }, async (tx) => {
      const now = this.parts.clock()
      const site = await requireAccess(tx, 'remove', { slug, account: requireAccount(caller), now })
      const { state, previewName } = requireVersion(await tx.versions.header(versionId), slug)
      const scope = state === 'pending' ? publishScope(previewName) : 'manage'
      await assertPermitted(tx, caller, { scope, reach: 'site' }, slug)
      if (site.liveVersionId === versionId) {
        const sentence = 'The live version cannot be deleted. Restore another version first.'
        throw new ApiError('VERSION_LIVE', sentence)
      }
      await forgetFormerFiles(tx, site, versionId, now)
      if (state === 'ready' && previewName !== null) await removeReview(tx, { slug, previewName }, now)
      await deleteVersions(tx, slug, { ids: [versionId], now, effect: 'withdrawn' })
    })
    return { slug, versionId, deleted: true }
  }

  /** A file of the live version, or another kept one; the caller must destroy the body. NOT_FOUND. */
  async file(
    account: Account,
    slug: string,
    path: string,
    versionId?: string,
  ): Promise<StoredFile & { body: Readable }> {
    const files = await this.#files(account, slug, versionId)
    const name = normalizeNfc(path)
    const file =
      files.find((one) => one.path === path) ?? files.find((one) => normalizeNfc(one.path) === name)
    if (!file) throw new ApiError('NOT_FOUND', 'File not found in this version')
    return { ...file, body: await this.#openBlob(file) }
  }

  /** A tar or zip stream of the live version, or another kept one, which the caller must destroy. */
  async archive(
    account: Account,
    slug: string,
    format: 'tar' | 'zip',
    versionId?: string,
  ): Promise<Readable> {
    const files = await this.#files(account, slug, versionId)
    const create = format === 'zip' ? createZip : createTar
    return create(files, (file) => this.#openBlob(file), this.parts.clock())
  }

  /** Sites that may have too many versions: of those that have changed since then. */
  async *listCrowded(since: number): AsyncGenerator<string> {
    const { store, plans, clock } = this.parts
    const { sites, versions } = store.read
    const started = clock()
    const first = { at: since, slug: '' }
    for await (const page of listPages(first, (after) => sites.listChanged(after, SITES_PER_PAGE))) {
      // Those that change all the time would never end.
      if (page[0]!.at > started) return
      const slugs = page.map(({ slug }) => slug)
      for (const kept of listKept(plans)) yield* await versions.overVersionLimit(kept, slugs)
    }
  }

  /** Sites with drafts that are too old, or previews that have ended. */
  async findOutdated(limit: number): Promise<string[]> {
    const { versions } = this.parts.store.read
    const now = this.parts.clock()
    const drafts = await versions.withOldDrafts(now - this.draftLifetimeSeconds * 1000, limit)
    return [...drafts, ...(await versions.withEndedPreviews(now, limit))]
  }

  /**
   * Deletes the versions that were live and the drafts beyond the numbers that are kept, and drafts that are too old;
   * never the live version. Ends previews and former files whose time is over. Previews that are kept and drafts do not
   * count as versions. A job passes its store. Returns how many it deleted or ended.
   */
  async prune(slug: string, store = this.parts.store): Promise<number> {
    // A write flushes the log, also when it changes nothing.
    if ((await this.#findUnneeded(store.read, slug)).length === 0) return 0
    const { count, isLast } = await store.write('durable', { site: slug }, async (tx) => {
      const now = this.parts.clock()
      const unneeded = await this.#findUnneeded(tx, slug)
      const chosen = takeForWrite(unneeded)
      const isEnded = ({ state, previewName }: VersionHeader) => state === 'ready' && previewName !== null
      for (const version of chosen)
        if (isEnded(version)) await endPreview(tx, version, { now, effect: 'outdated' })
      const ids = chosen.flatMap((version) => (isEnded(version) ? [] : version.id))
      if (ids.length > 0) await deleteVersions(tx, slug, { ids, now, effect: 'outdated' })
      return { count: chosen.length, isLast: chosen.length === unneeded.length }
    })
    return isLast ? count : count + (await this.prune(slug, store))
  }

  /** Previews and former files that have ended, and versions to delete. */
  async #findUnneeded(queries: Queries, slug: string): Promise<VersionHeader[]> {
    const site = await queries.sites.find(slug)
    if (!site || site.deletedAt !== null) return []
    const now = this.parts.clock()
    const versions = await queries.versions.bySlug(slug)
    const ended = versions.filter(
      ({ state, previewUntil }) => state !== 'pending' && previewUntil !== null && previewUntil <= now,
    )
    const limits = await this.parts.plans.limitsOfOwner(queries, site.ownerId)
    return [...ended, ...this.#findOld(site, versions, { now, limits })]
  }

  /**
   * Versions that were live are ordered by the time when they last went live, drafts by their creation. Versions that only
   * repeat the files of a newer one go first: publishing the same files many times evicts no others.
   */
  #findOld(
    { liveVersionId }: Site,
    newestFirst: readonly VersionHeader[],
    { now, limits }: { now: number; limits: Plan },
  ): VersionHeader[] {
    const others = newestFirst.filter(
      ({ id, state, previewName }) => state === 'ready' && id !== liveVersionId && previewName === null,
    )
    const published = others
      .filter(({ publishedAt }) => publishedAt !== null)
      .sort((a, b) => b.lastLiveAt! - a.lastLiveAt!)
    const live = newestFirst.find(({ id }) => id === liveVersionId)
    const old = repeatedLast(published, live).slice(limits.versionsKept - (live ? 1 : 0))
    const drafts = others
      .filter(({ publishedAt }) => publishedAt === null)
      .filter(
        ({ createdAt }, index) =>
          index >= limits.draftsKept || createdAt < now - this.draftLifetimeSeconds * 1000,
      )
    return [...old, ...drafts]
  }

  async #files(
    account: Account,
    slug: string,
    versionId: string | undefined,
  ): Promise<readonly StoredFile[]> {
    const { read } = this.parts.store
    const site = await requireAccess(read, 'read', { slug, account, now: this.parts.clock() })
    const wanted = versionId ?? site.liveVersionId
    if (wanted === null) throw new ApiError('SITE_PENDING', 'This site has no published version yet')
    const version = requireFinalized(requireVersion(await read.versions.find(wanted), slug))
    return version.files
  }

  async #openBlob(file: StoredFile): Promise<Readable> {
    const body = await this.parts.blobs.read(file.hash!)
    if (!body) throw new Error(`The blob ${file.hash} of '${file.path}' is missing`)
    return body
  }
}

/** The numbers of kept versions, each with its plans; the default plan is that of all others, too. */
function listKept(plans: Plans): KeptVersions[] {
  const groups = Map.groupBy(plans.ids, (id) => {
    const { versionsKept, draftsKept } = plans.find(id)!
    return `${versionsKept} ${draftsKept}`
  })
  return [...groups.values()].map((ids) => {
    const { versionsKept: versions, draftsKept: drafts } = plans.find(ids[0]!)!
    const others = plans.ids.filter((id) => !ids.includes(id))
    return { versions, drafts, plans: ids.includes(DEFAULT_PLAN) ? { except: others } : { only: ids } }
  })
}

async function listReady({ versions }: Queries, slug: string): Promise<VersionHeader[]> {
  return (await versions.bySlug(slug)).filter(({ state }) => state === 'ready')
}

type Authors = ReadonlyMap<string, string>

/** Leaves accounts out that were deleted. */
async function findAuthors(queries: Queries, versions: readonly VersionHeader[]): Promise<Authors> {
  const ids = new Set(versions.flatMap(({ publishedBy }) => publishedBy ?? []))
  return new Map((await queries.accounts.byIds([...ids])).map(({ id, email }) => [id, email]))
}

/** What the version replaced, or would replace now; the one that went live before it where that is not kept. */
function findBase(
  versions: readonly VersionHeader[],
  { liveVersionId }: Site,
  version: VersionHeader,
): VersionHeader | undefined {
  const { publishedAt, baseVersionId } = version
  return findReplaced(versions, version, publishedAt === null ? liveVersionId : baseVersionId)
}

/** An id, or PREVIOUS_VERSION. The function finds the id within the transaction, after the authorization. */
type RestoredVersion = string | ((queries: Queries) => Promise<string>)

/** The version that the live one replaced stands for what that had replaced: repeated rollbacks go further back. */
async function requireRestorable(
  queries: Queries,
  site: Site,
  which: RestoredVersion,
): Promise<{ version: Version; previousVersionId: string | null }> {
  const { slug, liveVersionId } = site
  const ready = await listReady(queries, slug)
  const live = ready.find(({ id }) => id === liveVersionId)
  const previous = live && findReplaced(ready, live, site.previousVersionId)
  const wanted = typeof which === 'string' ? which : await which(queries)
  if (wanted === PREVIOUS_VERSION && !previous)
    throw new ApiError('NOT_FOUND', 'No version that was live earlier is kept')
  const id = wanted === PREVIOUS_VERSION ? previous!.id : wanted
  const version = requireVersion(await queries.versions.find(id), slug)
  if (version.state === 'pending') {
    throw new ApiError('UPLOADS_MISSING', 'This version was never finalized. Finalize it to make it live.')
  }
  const isNew = typeof which !== 'string' || version.publishedAt === null
  // What was live before is restored also after a request for changes.
  if (isNew && version.previewName !== null) await requireApproval(queries, site, version)
  const isBack = previous?.id === id
  const next = isBack ? (findReplaced(ready, previous, previous.baseVersionId)?.id ?? null) : liveVersionId
  return { version, previousVersionId: next }
}

/** Puts those with the files of the live version, or of an earlier one in the list, last. */
function repeatedLast(versions: readonly VersionHeader[], live: VersionHeader | undefined): VersionHeader[] {
  const seen = new Set([live?.contentHash])
  const { true: repeated = [], false: distinct = [] } = Object.groupBy(versions, ({ id, contentHash }) => {
    const contents = contentHash ?? id
    const isRepeated = seen.has(contents)
    seen.add(contents)
    return `${isRepeated}`
  })
  return [...distinct, ...repeated]
}

function lostImageWarnings(site: Site, version: Version): PublishWarning[] {
  const { ogImagePath } = chosenMetadata(site, version)
  if (ogImagePath === null || hasImage(version.files, ogImagePath)) return []
  return [{ file: ogImagePath, message: 'The image of the link preview is not in this version' }]
}

/** Contract, "Finalize". Warns also of metadata of the site that the version cannot show. */
export async function buildFinalizeResponse(
  { addresses, blobs }: { addresses: UrlBuilder; blobs: BlobReader },
  site: Site,
  version: Version,
  more: { previousVersionId: string | null; replayed: boolean; unchanged?: boolean },
): Promise<FinalizeResponse> {
  const injection = findInjection(site, version, addresses)
  const warnings = [
    ...version.warnings,
    ...lostImageWarnings(site, version),
    ...(injection ? await injectionWarnings(blobs, injection) : []),
  ]
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
