import type { AnonymousExtras, FileEntry, PublishRequest, Viewer } from '../client/wire.ts'
import type { Addresses } from './address.ts'
import { invalid, noSuchSite, type Problem } from './failure.ts'
import { type FileLimits, manifestProblems, type StoredFile, totalBytes } from './file.ts'
import { hashOfSecret, newClaimToken, newId } from './key.ts'
import { type Caller, claimable, ownedSite, refuseLeaver, signedIn } from './ownership.ts'
import { endSite } from './site.ts'
import { newSlug } from './slug.ts'
import type { SiteRow, VersionRow } from './store/schema.ts'
import type { Store, Writing } from './store/store.ts'
import { iso } from './time.ts'
import { dropVersions, refuseOtherBase } from './version.ts'
import { hasImage, notAnImage, viewerProblems } from './viewer.ts'

interface StagingOptions {
  store: Store
  addresses: Addresses
  clock: () => number
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

/** A manifest entry of a pending version; `known` bytes are those of the live version it was staged upon. */
export interface PendingFile extends StoredFile {
  known?: true
}

/** The first half of a publish: rules, then one transaction that keeps a manifest as a pending version. */
export class Staging {
  readonly #options: StagingOptions

  constructor(options: StagingOptions) {
    this.#options = options
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

  /** Stages the first version of a new site; the manifest has been checked. */
  async newSite(caller: Caller, request: PublishRequest, versionId?: string): Promise<Staged> {
    const { store, clock, addresses, anonymousLifetime } = this.#options
    const { files } = request
    const viewer = viewerOf(request)
    const now = clock()
    if (!caller.account) refuseTimeToLive(viewer)
    refuseUnknownImage(files, viewer)
    const [slug, claimToken] = [newSlug(), newClaimToken()]
    const expiresAt = caller.account ? null : now + anonymousLifetime * 1000
    const version = pendingVersion(slug, files, { caller, viewer, now, id: versionId })
    await store.write('durable', async (tx) => {
      if (caller.account) await refuseLeaver(tx, caller.account)
      await tx.sites.insert(pendingSite(slug, caller, { claimToken, expiresAt, now }))
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
  async newVersion(
    caller: Caller,
    slug: string,
    request: PublishRequest,
    versionId?: string,
  ): Promise<Staged> {
    const { store, clock } = this.#options
    const { files } = request
    const viewer = viewerOf(request)
    return store.write('durable', async (tx) => {
      const now = clock()
      const site = authorized(await tx.sites.bySlug(slug), caller, request.claimToken, now)
      if (site.owner_id === null) refuseTimeToLive(viewer)
      refuseUnknownImage(files, viewer)
      refuseOtherBase(site, request.baseVersionId ?? null)
      const skipped = await alreadyLive(tx, site, files)
      const base = request.baseVersionId
      const version = pendingVersion(slug, files, {
        caller,
        viewer,
        now,
        id: versionId,
        base,
        known: skipped,
      })
      await tx.versions.insert(version)
      return { slug, versionId: version.id, files, skipped, isNew: false, anonymous: undefined }
    })
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
}

/** Top level wins over `viewer` (contract, "Publish"). */
function viewerOf(request: PublishRequest): Viewer {
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

interface NewVersion {
  caller: Caller
  viewer: Viewer
  now: number
  id: string | undefined
  base?: string | undefined
  /** Which files are in the live version: decided here, whatever a manifest says. */
  known?: ReadonlySet<number>
}

function pendingVersion(
  slug: string,
  files: readonly FileEntry[],
  { caller, viewer, now, id, base, known }: NewVersion,
): VersionRow {
  return {
    id: id ?? newId(now),
    slug,
    state: 'pending',
    files: JSON.stringify(
      files.map(({ path, size, contentType, hash }, index): PendingFile => {
        return { path, size, contentType, ...(hash && { hash }), ...(known?.has(index) && { known: true }) }
      }),
    ),
    file_count: files.length,
    total_bytes: totalBytes(files),
    viewer: JSON.stringify(viewer),
    base_version_id: base ?? null,
    created_at: now,
    published_at: null,
    rules: null,
    warnings: null,
    front: null,
    encoded: 0,
    published_by: caller.account?.id ?? null,
    published_with: caller.signedInWith,
    look: null,
  }
}

function pendingSite(
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

function refuseUnknownImage(files: readonly FileEntry[], { ogImagePath }: Viewer): void {
  if (ogImagePath && !hasImage(files, ogImagePath)) throw invalid([notAnImage('ogImagePath', ogImagePath)])
}

function refuseTimeToLive(viewer: Viewer): void {
  if (viewer.ttlSeconds === undefined || viewer.ttlSeconds === null) return
  throw invalid([
    { field: 'ttlSeconds', message: 'needs a site with an owner; an anonymous site has its own time' },
  ])
}
