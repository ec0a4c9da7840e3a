import { isDeepStrictEqual } from 'node:util'
import type { FieldError } from '../../protocol/api/errors.schema.ts'
import type { FileChanges, FileEntry } from '../../protocol/api/fields.schema.ts'
import type { KeyScope } from '../../protocol/api/keys.ts'
import type {
  AnonymousExtras,
  FileLimits,
  PublishRequest,
  Removal,
  SiteMetadata,
} from '../../protocol/api/publish.schema.ts'
import { MAX_MESSAGE_LENGTH, METADATA_FIELDS } from '../../protocol/api/publish.ts'
import { type StoredFile, sumSizes, validateManifest } from '../../protocol/manifest/manifest.ts'
import { countChanges, diffManifests } from '../../protocol/manifest/manifest-diff.ts'
import { findRemoval } from '../../protocol/manifest/removal.ts'
import {
  assertNotBeingDeleted,
  assertPermitted,
  type Caller,
  describePublisher,
  publishScope,
  requireAccessTo,
  requirePublisher,
} from '../accounts/authorization.ts'
import type { Blocklist } from '../accounts/blocklist.ts'
import { fileLimits, type Plan } from '../accounts/plans.ts'
import { Component } from '../lib/component.ts'
import { ApiError, invalidField, validationError } from '../lib/errors.ts'
import { toPlainLine } from '../lib/plain-line.ts'
import { toIso } from '../lib/time.ts'
import { hashToken, newClaimToken, newId } from '../lib/tokens.ts'
import type { Parts } from '../parts.ts'
import { findByName, type SiteNames, takeNewName, withCurrentName } from '../sites/names.ts'
import { assertPreviewLimit, findReplacedId } from '../sites/preview.ts'
import {
  hasImage,
  notAnImageError,
  requiredRight,
  validateMessage,
  validateMetadata,
} from '../sites/site-metadata.ts'
import { newSlug } from '../sites/slug.ts'
import { deleteSite } from '../sites/trash.ts'
import { assertBaseIsCurrent, countRecord, deleteVersions, writeWithPending } from '../sites/version.ts'
import type { Queries } from '../store/queries.ts'
import type { WriteTransaction } from '../store/store.ts'
import { emptySite, type Site } from '../store/tables/sites.ts'
import {
  emptyVersion,
  type ManifestFile,
  sumUploads,
  type Version,
  type VersionChanges,
} from '../store/tables/versions.ts'
import { listRequestedFiles, mergeManifest } from './merge.ts'
import { scanLimit } from './secrets/secret-scan.ts'

type PendingVersionStoreParts = Pick<
  Parts,
  'store' | 'addresses' | 'clock' | 'plans' | 'quotas' | 'publishQueue'
> & {
  blocklist: Blocklist
  names: SiteNames
  anonymousLifetime: number
  /** In seconds, from the last change of a preview. */
  previewLifetime: number
  allowsAnonymous: boolean
  anonymousLimits: FileLimits
}

type PreviewFields = Pick<Version, 'previewName' | 'previewUntil' | 'liveReload'>

const NO_PREVIEW: PreviewFields = { previewName: null, previewUntil: null, liveReload: false }

/** What a new site needs of a key: one that is limited to sites can publish to these by name. */
const FOR_NEW_SITES = { scope: 'publish', reach: 'account' } as const

export interface StagedVersion {
  slug: string
  versionId: string
  files: readonly StoredFile[]
  skipped: Set<number>
  isNew: boolean
  expiresAt: number | null
  anonymous: AnonymousExtras | undefined
  /** Undefined when the version removes no file of the live one. */
  removal: Removal | undefined
  changes: FileChanges | undefined
}

/** A version of the site `slug`, with an id of its caller's choice. */
export interface WantedVersion {
  caller: Caller
  slug: string
  request: PublishRequest
  versionId?: string | undefined
}

/** The first half of a publish: rules, then one transaction that stores the manifest as a pending version. */
export class PendingVersionStore extends Component<PendingVersionStoreParts> {
  get maxFiles(): number {
    const { plans, anonymousLimits } = this.parts
    return Math.max(anonymousLimits.files, plans.maxFiles)
  }

  /** Of a site those of its owner, also for other publishers; of a new one those of the caller. */
  async limitsFor({ account }: Caller, site?: Site): Promise<FileLimits> {
    const { store, plans } = this.parts
    if (site && site.ownerId !== account?.id)
      return this.#fileLimits(site, await plans.limitsOfOwner(store.read, site.ownerId))
    return this.#fileLimits({ ownerId: account?.id ?? null }, plans.limitsOf(account))
  }

  /** As `limitsFor`, of the site that a request updates; those of the caller where it may not. */
  async findLimits(
    caller: Caller,
    slug: string | undefined,
    request: Pick<PublishRequest, 'name' | 'update' | 'preview' | 'claimToken'> = {},
  ): Promise<FileLimits> {
    // The schema may have refused the request.
    const claimToken = typeof request.claimToken === 'string' ? request.claimToken : undefined
    const { read } = this.parts.store
    const find = async (name: string) =>
      this.authorize(caller, await read.sites.currentName(name), { claimToken, scope: 'preview' })
    const found = slug === undefined ? this.assertMayCreate(caller, request) : find(slug)
    // A caller that is refused learns of it from what it requests.
    const site = await found.catch((error: unknown) => {
      if (error instanceof ApiError && error.status < 500) return undefined
      throw error
    })
    return this.limitsFor(caller, site)
  }

  /** Spec 4.3; callers check them before staging. With `slug`, the request is an update. */
  async validate(caller: Caller, request: PublishRequest, slug?: string): Promise<FieldError[]> {
    let problems = validateManifest(request, await this.limitsFor(caller))
    // Another owner may have higher limits. `#addVersion` refuses what exceeds lower ones.
    if (problems.length > 0)
      problems = validateManifest(request, await this.findLimits(caller, slug, request))
    return [...problems, ...this.validateFields(request)]
  }

  validateFields(request: Omit<PublishRequest, 'files'>): FieldError[] {
    const { merge, delete: deleted, update, name, liveReload, preview } = request
    const missing = (field: string, isMissing: boolean | undefined, required: string): FieldError[] =>
      isMissing ? [{ field, message: `requires ${required}` }] : []
    return [
      ...missing('delete', deleted !== undefined && merge !== true, 'merge: true'),
      ...missing('update', update && name === undefined, 'name'),
      ...this.parts.names.validatePreviewName(preview),
      ...missing('liveReload', liveReload && preview === undefined, 'preview'),
      ...validateMessage(request.message),
      ...validateMetadata(request, ''),
      ...validateMetadata(request.viewer ?? {}, 'viewer.'),
    ]
  }

  /** The site; rejects callers that may not publish to it, before the body is read. */
  async authorize(
    caller: Caller,
    slug: string,
    { claimToken, scope }: { claimToken: string | undefined; scope: KeyScope },
  ): Promise<Site> {
    const { store, clock } = this.parts
    return requirePublisher(store.read, caller, { slug, claimToken, now: clock(), scope })
  }

  /** Refuses anonymous callers where sites need accounts, and unusable names. Returns the site to update, if any. */
  async assertMayCreate(caller: Caller, request: Omit<PublishRequest, 'files'>): Promise<Site | undefined> {
    const { name, update, preview } = request
    const { allowsAnonymous, names, store, clock } = this.parts
    const { account } = caller
    if (!account && !allowsAnonymous)
      throw new ApiError(
        'UNAUTHORIZED',
        'This server publishes sites of accounts only. Sign in, then publish again',
      )
    if (name !== undefined && typeof name !== 'string') throw invalidField('name', 'must be a string')
    const site = await findByName(store.read, request, { account, now: clock() })
    if (site) {
      await requireAccessTo(store.read, 'publish', site, { account: account!, now: clock() })
      await assertPermitted(store.read, caller, { scope: publishScope(preview), reach: 'site' }, site.slug)
      return site
    }
    assertForNewSite(request)
    await assertPermitted(store.read, caller, FOR_NEW_SITES)
    if (name === undefined) return undefined
    if (update && account) names.assertAllowed(name)
    else await names.assertAvailable(caller, name)
    return undefined
  }

  /** The manifest has been checked. With `update`, one transaction decides whether the site of this name exists. */
  async newSite(caller: Caller, request: PublishRequest, versionId?: string): Promise<StagedVersion> {
    const { store, blocklist, quotas, publishQueue, clock } = this.parts
    const { name, update, ...fields } = request
    const { account } = caller
    let slug = (await this.assertMayCreate(caller, request))?.slug ?? name ?? newSlug()
    await blocklist.assertFiles(request.files)
    for (;;) {
      const site = slug
      const scope = { site, account: account?.id ?? [] }
      const write = async (tx: WriteTransaction) => {
        const found = await findByName(tx, request, { account, now: clock() })
        const current = found?.slug ?? name ?? site
        // Renamed since: again, with its lock.
        if (current !== site) return current
        return found
          ? this.#addVersion(tx, { caller, slug: site, request: fields, versionId })
          : this.#addSite(tx, { caller, slug: site, request, versionId })
      }
      const uploads = versionId === undefined ? request.files.length : 0
      const staged = await publishQueue.run(caller, 'new', () => quotas.write(store, scope, write), uploads)
      if (typeof staged === 'string') slug = staged
      else {
        if (!staged.isNew) caller.onUpdateByName?.()
        return staged
      }
    }
  }

  async #addSite(tx: WriteTransaction, wanted: WantedVersion): Promise<StagedVersion> {
    const { caller, slug, request, versionId } = wanted
    const { clock, addresses, quotas, anonymousLifetime } = this.parts
    const { name, message } = request
    assertForNewSite(request)
    const now = clock()
    const { metadata, preview } = this.#separatePreview(request, now)
    if (!caller.account) assertAnonymous(preview, metadata)
    const files = listRequestedFiles(request)
    assertKnownImage(files, metadata)
    await assertPermitted(tx, caller, FOR_NEW_SITES)
    const claimToken = newClaimToken()
    const expiresAt = caller.account ? null : now + anonymousLifetime * 1000
    const version = pendingVersion(slug, files, { caller, metadata, message, now, id: versionId, preview })
    const network = caller.account ? null : quotas.hashNetwork(caller.address)
    const site = pendingSite(slug, caller, { claimToken, expiresAt, network, now })
    if (caller.account) await assertNotBeingDeleted(tx, caller.account)
    if (caller.account && name !== undefined) await takeNewName(tx, name, caller.account.id)
    await tx.sites.insert(site, version)
    const bytes = version.totalBytes + (await countRecord(tx, site, version.id))
    await quotas.charge(tx, site, { bytes, sites: 1, versionId: version.id })
    const anonymous = caller.account
      ? undefined
      : {
          claimToken,
          claimUrl: addresses.claim(slug, claimToken),
          expiresAt: toIso(expiresAt!),
          anonymous: true as const,
          warning:
            'Save claimToken and claimUrl: they are shown only once, and the site expires unless you claim it.',
        }
    return {
      ...{ slug, versionId: version.id, files, skipped: new Set(), isNew: true, expiresAt, anonymous },
      ...compareManifests(undefined, files),
    }
  }

  /** Skips files with the bytes of the live version (spec 4.4) or preview. A merged one is based on what it replaces. */
  async newVersion(wanted: WantedVersion): Promise<StagedVersion> {
    const { store, blocklist, quotas, publishQueue } = this.parts
    const { caller, slug, request } = wanted
    if (request.name !== undefined)
      throw invalidField('name', 'is for new sites; rename a site with PATCH /api/v1/publish/{slug}/name')
    await blocklist.assertFiles(request.files)
    const addTo = (site: string) =>
      quotas.write(store, { site }, (tx) => this.#addVersion(tx, { ...wanted, slug: site }))
    const uploads = wanted.versionId === undefined ? request.files.length : 0
    return publishQueue.run(caller, 'new', () => withCurrentName(store, slug, addTo), uploads)
  }

  async #addVersion(tx: WriteTransaction, wanted: WantedVersion): Promise<StagedVersion> {
    const { caller, slug, request, versionId } = wanted
    const { clock, plans, quotas } = this.parts
    const now = clock()
    const { metadata, preview } = this.#separatePreview(request, now)
    const { claimToken } = request
    const site = await requirePublisher(tx, caller, {
      slug,
      claimToken,
      now,
      scope: requiredRight(metadata) === 'manage' ? 'manage' : publishScope(preview.previewName),
    })
    if (site.ownerId === null) assertAnonymous(preview, metadata)
    const name = preview.previewName
    const plan = await plans.limitsOfOwner(tx, site.ownerId)
    if (name !== null) await assertPreviewLimit(tx, { slug, name, max: plan.previews, now })
    const replacedId = await findReplacedId(tx, site, name, now)
    await assertBaseIsCurrent(tx, replacedId, request.baseVersionId ?? null)
    const live = await tx.versions.findFiles(site.liveVersionId)
    const replaced = replacedId === site.liveVersionId ? live : await tx.versions.findFiles(replacedId)
    const limits = this.#fileLimits(site, plan)
    const files = request.merge
      ? mergeManifest(request, requireReplaced(replaced), limits)
      : listRequestedFiles(request)
    const isChecked = request.merge || isDeepStrictEqual(limits, await this.limitsFor(caller))
    const problems = isChecked ? [] : validateManifest(request, limits)
    if (problems.length > 0) throw validationError(problems)
    assertKnownImage(files, metadata)
    const reused = findReusableFiles([...new Set([live, replaced])], files)
    await removeDamaged(tx, reused, request.files)
    const base = request.merge ? replacedId : request.baseVersionId
    const compared = compareManifests(replaced, files)
    const version = pendingVersion(slug, files, {
      caller,
      metadata,
      message: request.message,
      now,
      id: versionId,
      base,
      reused,
      changes: versionChanges(
        site,
        files,
        (live === replaced ? compared : compareManifests(live, files)).changes,
      ),
      preview,
    })
    await this.#endOldestUploads(tx, site, { plan, next: version })
    await tx.rows.insert('versions', version)
    const bytes = sumUploads('pending', version.files) + (await countRecord(tx, site, version.id))
    await quotas.charge(tx, site, { bytes, sites: 0, versionId: version.id })
    const { expiresAt } = site
    const anonymous = undefined
    const skipped = new Set(reused.keys())
    return { slug, versionId: version.id, files, skipped, isNew: false, expiresAt, anonymous, ...compared }
  }

  /**
   * A site has as many pending versions as drafts and previews, which need an account. More would be stored for a day,
   * and take a claim or a deletion of the site long. Those for previews count apart: a key of previews ends no others.
   */
  async #endOldestUploads(
    tx: WriteTransaction,
    { slug, ownerId }: Site,
    { plan, next }: { plan: Plan; next: Version },
  ): Promise<void> {
    const max = plan.draftsKept + (ownerId === null ? 0 : plan.previews)
    const isPreview = ({ previewName }: Pick<Version, 'previewName'>) => previewName !== null
    const pending = (await tx.versions.bySlug(slug)).filter(
      (version) => version.state === 'pending' && isPreview(version) === isPreview(next),
    )
    const oldest = pending.slice(max - 1).map(({ id }) => id)
    if (oldest.length > 0)
      await deleteVersions(tx, slug, { ids: oldest, now: next.createdAt, effect: 'outdated' })
  }

  #fileLimits({ ownerId }: Pick<Site, 'ownerId'>, plan: Plan): FileLimits {
    return ownerId === null ? this.parts.anonymousLimits : fileLimits(plan)
  }

  /** With `preview`, the time to live is that of the preview, not of the site. */
  #separatePreview(request: PublishRequest, now: number): { metadata: SiteMetadata; preview: PreviewFields } {
    const { ttlSeconds, ...others } = mergeMetadata(request)
    const { preview, liveReload = false } = request
    if (preview === undefined)
      return { metadata: { ...others, ...(ttlSeconds !== undefined && { ttlSeconds }) }, preview: NO_PREVIEW }
    const previewUntil = now + (ttlSeconds ?? this.parts.previewLifetime) * 1000
    return { metadata: others, preview: { previewName: preview, previewUntil, liveReload } }
  }

  /** Also removes its site when that is new and has no other version. */
  async abort({ versionId, isNew }: StagedVersion): Promise<void> {
    const { store, clock } = this.parts
    await writeWithPending(store, versionId, async (tx, slug) => {
      // Another first publish by name may have added a version.
      const isOnly = isNew && (await tx.versions.bySlug(slug)).length === 1
      if (isOnly) await deleteSite(tx, slug, 'abandoned', clock())
      else await deleteVersions(tx, slug, { ids: [versionId], now: clock(), effect: 'outdated' })
    })
  }
}

export function compareManifests(
  replaced: readonly StoredFile[] | undefined,
  files: readonly StoredFile[],
): Pick<StagedVersion, 'removal' | 'changes'> {
  if (replaced === undefined) return { removal: undefined, changes: undefined }
  const diff = diffManifests(replaced, files)
  const removal = diff.removed.length === 0 ? undefined : findRemoval(replaced, files)
  return { removal, changes: countChanges(diff) }
}

/** A client that forgot the slug would get a second site. */
function assertForNewSite({ merge, claimToken, baseVersionId }: Omit<PublishRequest, 'files'>): void {
  const given = { merge: merge || undefined, claimToken, baseVersionId }
  for (const [field, value] of Object.entries(given))
    if (value !== undefined)
      throw invalidField(field, 'requires an existing site: add its slug, or leave this out for a new site')
}

/** Top level wins over `viewer` (contract, "Publish"). */
function mergeMetadata(request: PublishRequest): SiteMetadata {
  const viewer: Record<string, unknown> = {}
  for (const field of METADATA_FIELDS) {
    const value = request[field] === undefined ? request.viewer?.[field] : request[field]
    if (value !== undefined) viewer[field] = value
  }
  return viewer as SiteMetadata
}

interface NewVersion {
  caller: Caller
  metadata: SiteMetadata
  message: string | undefined
  now: number
  id: string | undefined
  base?: string | null | undefined
  /** Computed here, never taken from the manifest. */
  reused?: ReusableFiles
  changes?: VersionChanges | null
  preview: PreviewFields
}

/** Null when a hash is not known yet: the file counts as changed until it was received. */
function versionChanges(
  { liveVersionId }: Site,
  files: readonly FileEntry[],
  changes: FileChanges | undefined,
): VersionChanges | null {
  if (liveVersionId === null || changes === undefined || files.some(({ hash }) => !hash)) return null
  return { ...changes, comparedWith: liveVersionId }
}

function pendingVersion(
  slug: string,
  files: readonly FileEntry[],
  { caller, metadata, message = '', now, id, base, reused, changes = null, preview }: NewVersion,
): Version {
  return {
    ...emptyVersion(id ?? newId(now), slug, now),
    ...preview,
    files: files.map(({ path, size, contentType, hash }, index) => {
      return { path, size, contentType, ...(hash && { hash }), ...reused?.get(index) }
    }),
    fileCount: files.length,
    totalBytes: sumSizes(files),
    metadata,
    baseVersionId: base ?? null,
    ...describePublisher(caller),
    message: toPlainLine(message, MAX_MESSAGE_LENGTH) || null,
    changes,
  }
}

function pendingSite(
  slug: string,
  caller: Caller,
  {
    claimToken,
    expiresAt,
    network,
    now,
  }: { claimToken: string; expiresAt: number | null; network: string | null; now: number },
): Site {
  return {
    ...emptySite(slug, now),
    ownerId: caller.account?.id ?? null,
    claimTokenHash: caller.account ? null : hashToken(claimToken),
    expiresAt,
    network,
  }
}

type ReusableFiles = Map<number, Pick<ManifestFile, 'known' | 'isUnscanned'>>

const KNOWN = { known: true } as const
const UNSCANNED = { known: true, isUnscanned: true } as const

/** The files in these versions are the site's own: no caller can obtain other bytes by naming a hash. */
function findReusableFiles(
  manifests: readonly (readonly ManifestFile[] | undefined)[],
  files: readonly FileEntry[],
): ReusableFiles {
  const reusable: ReusableFiles = new Map()
  // Most files of an update have the place that they had before, which costs less to find than a hash.
  const isInPlace = ({ hash, size, contentType }: FileEntry, index: number) => {
    const before = manifests[0]?.[index]
    return before?.hash === hash && before?.size === size && before.contentType === contentType && size > 0
  }
  const others = new Set(files.filter((file, index) => !isInPlace(file, index)).map(({ hash }) => hash))
  const present = new Map<string | undefined, ManifestFile>()
  for (const manifest of manifests)
    for (const file of manifest ?? [])
      if (file.size > 0 && others.has(file.hash)) present.set(file.hash, file)
  for (const [index, file] of files.entries()) {
    const before = isInPlace(file, index) ? file : present.get(file.hash)
    if (before?.size !== file.size) continue
    const isScanned = before === file || scanLimit(before) >= scanLimit(file)
    reusable.set(index, isScanned ? KNOWN : UNSCANNED)
  }
  return reusable
}

/** Those that the request has are received again. What a merge keeps follows them, and stays as it is. */
async function removeDamaged(
  { blobs }: Queries,
  reusable: ReusableFiles,
  files: readonly FileEntry[],
): Promise<void> {
  const hashes = files.flatMap(({ hash }, index) => (reusable.has(index) ? hash! : []))
  const damaged = await blobs.damagedAmong(hashes)
  for (const [index, { hash }] of files.entries()) if (damaged.has(hash!)) reusable.delete(index)
}

function requireReplaced(replaced: readonly StoredFile[] | undefined): readonly StoredFile[] {
  if (replaced) return replaced
  throw new ApiError('SITE_PENDING', 'This site has no published version to merge with')
}

function assertKnownImage(files: readonly FileEntry[], { ogImagePath }: SiteMetadata): void {
  if (ogImagePath && !hasImage(files, ogImagePath))
    throw validationError([notAnImageError('ogImagePath', ogImagePath)])
}

/** Also null for `ttlSeconds`: the site would not expire. */
function assertAnonymous({ previewName }: PreviewFields, { ttlSeconds }: SiteMetadata): void {
  if (previewName !== null)
    throw new ApiError('UNAUTHORIZED', 'Previews need an account. Sign in, or claim the site first')
  if (ttlSeconds !== undefined)
    throw invalidField('ttlSeconds', 'requires an account; anonymous sites have a fixed lifetime')
}
