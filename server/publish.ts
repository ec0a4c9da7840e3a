import type { Readable } from 'node:stream'
import type {
  AnonymousExtras,
  CreateAnswer,
  FileEntry,
  FinalizeAnswer,
  FinalizeRequest,
  PublishRequest,
  UpdateAnswer,
  UploadPlan,
  UploadReceipt,
  Viewer,
} from '../client/wire.ts'
import type { Addresses } from './address.ts'
import { Arrivals } from './arrival.ts'
import type { Blobs, Received } from './blobs/blobs.ts'
import { Failure, invalid, noSuchSite, type Problem } from './failure.ts'
import { type FileLimits, manifestProblems, type StoredFile, totalBytes } from './file.ts'
import { hashOfSecret, newClaimToken, newId } from './key.ts'
import type { Log } from './log.ts'
import { type Caller, claimable, ownedSite, unexpired } from './ownership.ts'
import { endSite } from './site.ts'
import { newSlug } from './slug.ts'
import type { SiteRow, VersionRow } from './store/schema.ts'
import type { Store, Writing } from './store/store.ts'
import { iso } from './time.ts'
import { UPLOAD_SECONDS, type UploadTargets } from './upload.ts'
import { dropVersions, finalizeAnswer, makeLive, type Versions, versionOf } from './version.ts'
import { hasImage, notAnImage, viewerProblems } from './viewer.ts'

interface PublishingOptions {
  store: Store
  blobs: Blobs
  targets: UploadTargets
  versions: Versions
  addresses: Addresses
  clock: () => number
  log: Log
  /** Seconds an anonymous site lives. */
  anonymousLifetime: number
  limits: { anonymous: FileLimits; owned: FileLimits }
}

/** A version whose manifest was accepted, with the site as it is while it waits for uploads. */
export interface Staged {
  slug: string
  versionId: string
  files: StoredFile[]
  skipped: Set<number>
  /** The site began with this version. */
  isNew: boolean
  anonymous: AnonymousExtras | undefined
}

/** From a manifest to a live version: stage, upload, finalize (spec 4.3 to 4.6, contract "Publish" and "Finalize"). */
export class Publishing {
  readonly #options: PublishingOptions
  readonly #arrivals: Arrivals

  constructor(options: PublishingOptions) {
    this.#options = options
    this.#arrivals = new Arrivals(options.store)
  }

  limitsFor(caller: Caller): FileLimits {
    return caller.account ? this.#options.limits.owned : this.#options.limits.anonymous
  }

  /** Everything that is wrong with what a publish says (spec 4.3); whoever stages has asked this first. */
  problems(caller: Caller, request: PublishRequest): Problem[] {
    return [
      ...manifestProblems(request.files, this.limitsFor(caller)),
      ...viewerProblems(request, ''),
      ...viewerProblems(request.viewer ?? {}, 'viewer.'),
    ]
  }

  /** Refuses whoever may not publish to a site, before anything is read of what they send. */
  async authorize(caller: Caller, slug: string, claimToken: string | undefined): Promise<void> {
    const { store, clock } = this.#options
    authorized(await store.read.sites.bySlug(slug), caller, claimToken, clock())
  }

  /** Spec 4.3: a new site with its first version, pending. */
  async create(caller: Caller, request: PublishRequest): Promise<CreateAnswer> {
    const staged = await this.stageNew(caller, request.files, viewerOf(request))
    return { ...this.#answer(staged), status: 'pending', ...staged.anonymous }
  }

  /** Spec 4.4: a new version of a site. Anonymous sites take their claim token in place of a key. */
  async update(caller: Caller, slug: string, request: PublishRequest): Promise<UpdateAnswer> {
    return this.#answer(await this.stageUpdate(caller, slug, request.files, request))
  }

  /** Contract, "Publish": fresh targets for what is still missing of a pending version. */
  async refresh(
    caller: Caller,
    slug: string,
    request: { versionId: string; claimToken?: string | undefined },
  ): Promise<UpdateAnswer> {
    const { store } = this.#options
    await this.authorize(caller, slug, request.claimToken)
    const version = versionOf(await store.read.versions.byId(request.versionId), slug)
    if (version.state !== 'pending')
      throw new Failure('UPLOAD_EXPIRED', 'This version is finalized; nothing is missing')
    const arrived = new Set((await store.read.versions.arrivalsOf(version.id)).map((row) => row.file_number))
    const files = JSON.parse(version.files) as PendingFile[]
    const skipped = new Set(files.flatMap((file, index) => (file.known ? [index] : [])))
    return this.#answer(
      { slug, versionId: version.id, files, skipped, isNew: false, anonymous: undefined },
      arrived,
    )
  }

  /** Spec 4.6: takes one file's bytes. `key` and `query` are the signed address, which alone gates this. */
  async upload(
    key: string,
    query: { token?: string; ct?: string; exp?: string },
    body: Readable,
    said: { contentType: string | undefined; length: number | undefined },
  ): Promise<UploadReceipt> {
    const { targets, blobs } = this.#options
    const upload = targets.read(key, query)
    if (!sameType(said.contentType, upload.contentType)) {
      const sentence = `The upload of '${upload.path}' must carry Content-Type: ${upload.contentType}`
      throw new Failure('CONTENT_TYPE_MISMATCH', sentence)
    }
    if (said.length !== undefined && said.length !== upload.size) {
      const sentence = `'${upload.path}' has ${upload.size} bytes in the manifest, but the upload has ${said.length}`
      throw new Failure('SIZE_MISMATCH', sentence)
    }
    const expected = { size: upload.size, ...(upload.hash === undefined ? {} : { hash: upload.hash }) }
    const { hash, size } = await this.#arrivals.during(() => blobs.receive(upload.versionId, body, expected))
    await this.#arrivals.add({
      version_id: upload.versionId,
      file_number: upload.fileNumber,
      hash,
      size,
    })
    return { path: upload.path, size, hash }
  }

  /** Whether finalizing this version completes a publish that was admitted, which is never refused for its rate. */
  async completes(slug: string, versionId: string): Promise<boolean> {
    const version = await this.#options.store.read.versions.head(versionId)
    return version?.slug === slug && version.state === 'pending'
  }

  /**
   * Contract, "Finalize": all or nothing, durable before it is answered, and repeatable. UPLOADS_MISSING names
   * what did not come.
   */
  async finalize(caller: Caller, slug: string, request: FinalizeRequest): Promise<FinalizeAnswer> {
    const { store, blobs, clock } = this.#options
    const live = request.live ?? true
    const site = await store.read.sites.bySlug(slug)
    if (!site) throw noSuchSite()
    if (site.owner_id === null) unexpired(alive(site), clock())
    else ownedSite(site, signedIn(caller), clock())
    const version = versionOf(await store.read.versions.byId(request.versionId), slug)
    const settled = version.state === 'pending' ? await this.#settle(version) : undefined
    const answer = await store.write('durable', (tx) => this.#commit(tx, slug, version.id, settled, live))
    this.#after(`finalize ${version.id}`, async () => {
      await blobs.discard(version.id)
      await this.#options.versions.prune(slug)
    })
    return answer
  }

  /** Stages the first version of a new site; the manifest has been checked. */
  async stageNew(caller: Caller, files: FileEntry[], viewer: Viewer, versionId?: string): Promise<Staged> {
    const { store, clock, addresses, anonymousLifetime } = this.#options
    const now = clock()
    if (!caller.account) refuseTimeToLive(viewer)
    refuseUnknownImage(files, viewer)
    const [slug, claimToken] = [newSlug(), newClaimToken()]
    const expiresAt = caller.account ? null : now + anonymousLifetime * 1000
    const version = newVersion(slug, files, { viewer, now, id: versionId })
    await store.write('durable', async (tx) => {
      await tx.sites.insert(newSite(slug, caller, { claimToken, expiresAt, now }))
      await tx.versions.insert(version)
    })
    const anonymous = caller.account
      ? undefined
      : {
          claimToken,
          claimUrl: addresses.claim(slug, claimToken),
          expiresAt: iso(expiresAt!),
          anonymous: true as const,
          warning:
            'Save the claimToken and claimUrl: they are shown once, and the site expires unless it is claimed.',
        }
    return { slug, versionId: version.id, files, skipped: new Set(), isNew: true, anonymous }
  }

  /** Stages a new version of a site; what the live version has of the same bytes is skipped (spec 4.4). */
  async stageUpdate(
    caller: Caller,
    slug: string,
    files: FileEntry[],
    request: Omit<PublishRequest, 'files'>,
    versionId?: string,
  ): Promise<Staged> {
    const { store, clock } = this.#options
    const viewer = viewerOf(request)
    return store.write('durable', async (tx) => {
      const now = clock()
      const site = authorized(await tx.sites.bySlug(slug), caller, request.claimToken, now)
      if (site.owner_id === null) refuseTimeToLive(viewer)
      refuseUnknownImage(files, viewer)
      refuseOtherBase(site, request.baseVersionId ?? null)
      const skipped = await alreadyLive(tx, site, files)
      const pending: PendingFile[] = files.map((file, index) =>
        skipped.has(index) ? { ...file, known: true } : file,
      )
      const version = newVersion(slug, pending, { viewer, now, id: versionId, base: request.baseVersionId })
      await tx.versions.insert(version)
      return { slug, versionId: version.id, files, skipped, isNew: false, anonymous: undefined }
    })
  }

  /** Records bytes that came by another way than an upload target: the entries of an archive. */
  async arrived({ versionId }: Staged, received: readonly Received[]): Promise<void> {
    const rows = received.map((one, index) => ({ version_id: versionId, file_number: index, ...one }))
    await this.#options.store.write('soft', (tx) => tx.versions.arrive(rows))
  }

  /** Takes a staged version back as if it had never been: its site too when that is new. */
  async withdraw({ slug, versionId, isNew }: Staged): Promise<void> {
    const { store, clock } = this.#options
    await store.write('durable', async (tx) => {
      const version = await tx.versions.head(versionId)
      if (version?.state !== 'pending') return
      if (isNew) await endSite(tx, slug, 'abandoned', clock())
      else await dropVersions(tx, slug, [versionId], clock())
    })
  }

  #answer(staged: Staged, arrived = new Set<number>()): UpdateAnswer {
    const { targets, addresses } = this.#options
    const { slug, versionId, files, skipped } = staged
    const uploads: UploadPlan['uploads'] = []
    files.forEach(({ path, size, contentType, hash }, fileNumber) => {
      if (skipped.has(fileNumber) || arrived.has(fileNumber)) return
      uploads.push(targets.target({ slug, versionId, path, fileNumber, size, contentType, hash }))
    })
    return {
      slug,
      siteUrl: addresses.site(slug),
      upload: {
        versionId,
        uploads,
        skipped: [...skipped].map((index) => ({ path: files[index]!.path, reason: 'hash_match' as const })),
        finalizeUrl: addresses.finalize(slug),
        expiresInSeconds: UPLOAD_SECONDS,
      },
    }
  }

  /** The manifest with every hash, once all bytes are durable. UPLOADS_MISSING otherwise. */
  async #settle(version: VersionRow): Promise<Settled> {
    const { store, blobs } = this.#options
    const files = JSON.parse(version.files) as PendingFile[]
    const arrivals = new Map(
      (await store.read.versions.arrivalsOf(version.id)).map((row) => [row.file_number, row]),
    )
    refuseMissing(
      files,
      files.flatMap((file, index) => (file.known || arrivals.has(index) ? [] : [index])),
    )
    const lost = new Set(await blobs.settle(version.id, [...arrivals.values()]))
    if (lost.size > 0) {
      const numbers = [...arrivals.values()].filter((row) => lost.has(row)).map((row) => row.file_number)
      await store.write('soft', (tx) => tx.versions.forgetArrivals(version.id, numbers))
      refuseMissing(files, numbers)
    }
    const whole = files.map(({ path, size, contentType, hash }, index) => {
      return { path, size, contentType, hash: arrivals.get(index)?.hash ?? hash! }
    })
    return { files: whole, came: [...arrivals.values()].map((row) => row.hash) }
  }

  /** The one transaction that makes a version ready and, if wanted, live. What was decided before is checked again. */
  async #commit(
    tx: Writing,
    slug: string,
    versionId: string,
    settled: Settled | undefined,
    live: boolean,
  ): Promise<FinalizeAnswer> {
    const { addresses, clock } = this.#options
    const now = clock()
    const site = unexpired(alive(await tx.sites.bySlug(slug)), now)
    const version = versionOf(await tx.versions.byId(versionId), slug)
    const isLive = site.live_version_id === versionId
    const replayed = isLive || (version.state === 'ready' && !live)
    if (!replayed) {
      refuseOtherBase(site, version.base_version_id)
      if (version.state === 'pending') {
        version.files = JSON.stringify(settled!.files)
        await tx.versions.update(versionId, { state: 'ready', files: version.files })
        await tx.blobNames.name(slug, settled!.came)
        await tx.versions.clearArrivals(versionId)
      }
      if (live) await makeLive(tx, site, version, now)
      else await tx.sites.update(slug, { updated_at: now })
    }
    const after = live && !isLive ? { ...site, live_version_id: versionId } : site
    const previousVersionId = isLive ? site.previous_version_id : site.live_version_id
    return finalizeAnswer(addresses, after, versionId, { previousVersionId, replayed })
  }

  /** Work that follows an answer: its failure is logged, and a sweep does it again. */
  #after(what: string, work: () => Promise<unknown>): void {
    work().catch((error: unknown) =>
      this.#options.log.warn('clean-up failed; a sweep will do it', { what, error }),
    )
  }
}

/** A manifest entry of a pending version; `known` bytes are those of the live version it was staged upon. */
interface PendingFile extends StoredFile {
  known?: true
}

/** A manifest whose bytes are all durable; `came` are the hashes that the site does not name yet. */
interface Settled {
  files: StoredFile[]
  came: string[]
}

/** Top level wins over `viewer` (contract, "Publish"). */
export function viewerOf(request: Omit<PublishRequest, 'files'>): Viewer {
  const viewer: Record<string, unknown> = {}
  for (const field of ['title', 'description', 'ogImagePath', 'spaMode', 'ttlSeconds'] as const) {
    const value = request[field] === undefined ? request.viewer?.[field] : request[field]
    if (value !== undefined) viewer[field] = value
  }
  return viewer as Viewer
}

/** The site when the caller may publish to it: by its owner's key, or by the claim token while it is anonymous. */
function authorized(
  site: SiteRow | undefined,
  caller: Caller,
  claimToken: string | undefined,
  now: number,
): SiteRow {
  if (site?.owner_id === null && claimToken !== undefined) return claimable(site, claimToken, now)
  if (claimToken !== undefined && !caller.account && !site) throw noSuchSite()
  return ownedSite(site, signedIn(caller), now)
}

function signedIn(caller: Caller): NonNullable<Caller['account']> {
  if (caller.account) return caller.account
  throw new Failure('UNAUTHORIZED', 'This needs an API key: Authorization: Bearer sl_live_...')
}

function alive(site: SiteRow | undefined): SiteRow {
  if (!site || site.gone_reason === 'deleted') throw noSuchSite()
  return site
}

function newVersion(
  slug: string,
  files: readonly StoredFile[],
  {
    viewer,
    now,
    id,
    base,
  }: { viewer: Viewer; now: number; id: string | undefined; base?: string | undefined },
): VersionRow {
  return {
    id: id ?? newId(now),
    slug,
    state: 'pending',
    files: JSON.stringify(
      files.map(({ path, size, contentType, hash, ...rest }: PendingFile) => {
        return { path, size, contentType, hash, ...(rest.known ? { known: true } : {}) }
      }),
    ),
    file_count: files.length,
    total_bytes: totalBytes(files),
    viewer: JSON.stringify(viewer),
    base_version_id: base ?? null,
    created_at: now,
    published_at: null,
  }
}

function newSite(
  slug: string,
  caller: Caller,
  { claimToken, expiresAt, now }: { claimToken: string; expiresAt: number | null; now: number },
): SiteRow {
  return {
    slug,
    owner_id: caller.account?.id ?? null,
    claim_token_hash: caller.account ? null : hashOfSecret(claimToken),
    live_version_id: null,
    previous_version_id: null,
    live_since: null,
    title: null,
    description: null,
    og_image_path: null,
    spa_mode: 0,
    password_hash: null,
    created_at: now,
    updated_at: now,
    expires_at: expiresAt,
    gone_at: null,
    gone_reason: null,
  }
}

/** Which files have the hash and size of a file of the site's own live version: nobody gets bytes by naming a hash. */
async function alreadyLive(tx: Writing, site: SiteRow, files: readonly FileEntry[]): Promise<Set<number>> {
  const live = site.live_version_id ? await tx.versions.byId(site.live_version_id) : undefined
  const sizes = new Map<string, number>()
  for (const file of live ? (JSON.parse(live.files) as StoredFile[]) : []) sizes.set(file.hash!, file.size)
  return new Set(
    files.flatMap((file, index) => (file.hash && sizes.get(file.hash) === file.size ? [index] : [])),
  )
}

function refuseOtherBase(site: SiteRow, baseVersionId: string | null): void {
  if (baseVersionId === null || baseVersionId === site.live_version_id) return
  throw new Failure('VERSION_CONFLICT', 'Another version went live since the one this was based on', {
    details: { currentVersionId: site.live_version_id },
  })
}

function refuseUnknownImage(files: readonly FileEntry[], { ogImagePath }: Viewer): void {
  if (ogImagePath && !hasImage(files, ogImagePath)) throw invalid([notAnImage('ogImagePath', ogImagePath)])
}

function refuseTimeToLive(viewer: Viewer): void {
  if (viewer.ttlSeconds === undefined || viewer.ttlSeconds === null) return
  throw invalid([
    { field: 'ttlSeconds', message: 'needs a site with an owner; an anonymous site has its own time' },
  ])
}

function refuseMissing(files: readonly StoredFile[], numbers: readonly number[]): void {
  if (numbers.length === 0) return
  const missing = numbers.slice(0, 20).map((number) => files[number]!.path)
  const sentence = `${numbers.length} of ${files.length} files did not arrive, the first is '${missing[0]}'`
  throw new Failure('UPLOADS_MISSING', sentence, { details: { missing, count: numbers.length } })
}

/** Media types are compared without regard to case and to spaces around them. */
function sameType(one: string | undefined, other: string): boolean {
  return one?.trim().toLowerCase() === other.trim().toLowerCase()
}
