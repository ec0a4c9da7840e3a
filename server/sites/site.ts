import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { HEAD_FIELDS } from '../../protocol/api/publish.ts'
import type {
  ClaimPreview,
  ClaimRequest,
  ClaimResponse,
  DuplicateResponse,
  MetadataRequest,
  SiteDetails,
  SiteList,
  SiteSummary,
} from '../../protocol/api/sites.schema.ts'
import { separateEmpty } from '../../protocol/manifest/empty-files.ts'
import { validateManifest } from '../../protocol/manifest/manifest.ts'
import {
  assertNotBeingDeleted,
  type Caller,
  describePublisher,
  OWNER_SUSPENDED,
  requireAccess,
  requireAccount,
  requireChangeable,
  requireNotExpired,
  withClaimToken,
} from '../accounts/authorization.ts'
import type { Blocklist } from '../accounts/blocklist.ts'
import { fileLimits } from '../accounts/plans.ts'
import { releaseHolding } from '../accounts/quotas.ts'
import { Component } from '../lib/component.ts'
import { ApiError, validationError } from '../lib/errors.ts'
import { decodeCursor, type PageRequest, toPage } from '../lib/list-pages.ts'
import { toIso, toIsoOrNull } from '../lib/time.ts'
import { newId } from '../lib/tokens.ts'
import type { Parts } from '../parts.ts'
import type { OwnerPage } from '../store/queries/sites.ts'
import type { Queries } from '../store/queries.ts'
import type { Account } from '../store/tables/accounts.ts'
import type { Site } from '../store/tables/sites.ts'
import type { Version, VersionHeader } from '../store/tables/versions.ts'
import { renameWithin, type SiteNames } from './names.ts'
import { hashPassword, passwordWork } from './password.ts'
import {
  effectiveMetadata,
  expiryEffect,
  hasImage,
  headMetadata,
  metadataChange,
  notAnImageError,
  publisherMetadata,
  requiredRight,
  validateMetadata,
} from './site-metadata.ts'
import { newSlug } from './slug.ts'
import { isRestorable } from './trash.ts'
import { countNewBytes, sumVersions } from './version.ts'

type SitesParts = Pick<Parts, 'store' | 'blobs' | 'addresses' | 'plans' | 'quotas' | 'clock'> & {
  precompressor: { enqueue(slug: string, versionId: string): void }
  names: Pick<SiteNames, 'assertAllowed'>
  blocklist: Pick<Blocklist, 'assertFiles'>
  trashLifetime: number
}

/** That a statement of a search reads: up to 20 ms of SQLite with many words. */
const SITES_PER_SEARCH = 200

interface ListOptions extends PageRequest {
  q?: string | undefined
  deleted?: boolean | undefined
}

/** Operations on sites, except their deletion (spec 4.7, 4.8, 4.10 and 4.12). */
export class Sites extends Component<SitesParts> {
  /** Spec 4.7. NOT_FOUND for a stranger's site. */
  async details(account: Account, slug: string): Promise<SiteDetails> {
    const { read } = this.parts.store
    const site = await requireAccess(read, 'read', { slug, account, now: this.parts.clock() })
    const pending = await read.versions.newestPending(slug)
    const displayed = site.liveVersionId ? await read.versions.find(site.liveVersionId) : pending
    const [membership] = await describeMemberships(read, account, [site])
    const files = displayed?.files ?? []
    return {
      ...membership!,
      ...publisherMetadata(site),
      ...(site.liveVersionId && displayed && effectiveMetadata(site, displayed, displayed.files)),
      ...this.#fields(site, { shown: displayed, displayed, pending }),
      viewer: headMetadata(site),
      requireApproval: site.requireApproval,
      files: files.map(({ path, size, contentType, hash }) => ({ path, size, contentType, hash: hash! })),
    }
  }

  /** Own and shared sites, newest first, or the trash, last deleted first; `nextCursor` is null on the last page. */
  async list(account: Account, { limit, cursor, q, deleted = false }: ListOptions): Promise<SiteList> {
    const { read } = this.parts.store
    const after = decodeCursor(cursor, 'at', 'slug')
    const words = q?.split(/\s+/).filter((word) => word !== '')
    const which = deleted ? { trash: true } : { sharedWith: account.email }
    const rows = await this.#find(account.id, { limit: limit + 1, after, words, ...which })
    const position = ({ deletedAt, createdAt, slug }: Site) => [deletedAt ?? createdAt, slug] as const
    const { rows: page, nextCursor } = toPage(rows, { limit, show: (row) => row, position })
    const memberships = await describeMemberships(read, account, page)
    const summaries = await this.#summaries(page)
    return {
      publishes: summaries.map((summary, index) => ({ ...summary, ...memberships[index]! })),
      nextCursor,
      ...describeSuspension(account),
    }
  }

  /** With words in several statements: one that reads all sites would hold the event loop, or exceed its deadline. */
  async #find(ownerId: string, { limit, after, ...which }: OwnerPage): Promise<Site[]> {
    const { sites } = this.parts.store.read
    if (!which.words?.length) return sites.byOwner(ownerId, { limit, after, ...which })
    const found: Site[] = []
    for (let [from, until] = [after, after]; ; from = until) {
      until = await sites.findPageEnd(ownerId, { limit: SITES_PER_SEARCH, after: from, ...which })
      const page = { limit: limit - found.length, after: from, until, ...which }
      found.push(...(await sites.byOwner(ownerId, page)))
      if (until === undefined || found.length === limit) return found
      await turnOfTheLoop()
    }
  }

  /** Absent fields stay, `null` clears; visible to visitors immediately. */
  async updateMetadata(account: Account, slug: string, change: MetadataRequest): Promise<SiteDetails> {
    const problems = validateMetadata(change, '')
    if (problems.length > 0) throw validationError(problems)
    const { password } = change
    let passwordHash = password
    if (typeof password === 'string') {
      const { read } = this.parts.store
      await requireAccess(read, requiredRight(change), { slug, account, now: this.parts.clock() })
      passwordHash = await passwordWork.run(account.id, () => hashPassword(password))
    }
    const changesHead = HEAD_FIELDS.some((field) => change[field] !== undefined)
    const liveVersion = await this.parts.store.write('durable', { site: slug }, async (tx) => {
      const now = this.parts.clock()
      const site = await requireAccess(tx, requiredRight(change), { slug, account, now })
      await assertKnownImage(tx, site, change.ogImagePath)
      const secret = passwordHash === undefined ? {} : { passwordHash }
      const changed = { ...metadataChange(change, now), ...secret, updatedAt: now }
      await tx.sites.update(slug, changed)
      const { liveVersionId: live } = site
      // The root document has changed, and its encodings are missing.
      if (live && changesHead) await tx.versions.update(live, { isEncoded: false })
      await tx.notifyChanged(slug, change.password === undefined ? expiryEffect(site, changed) : 'withdrawn')
      return live
    })
    if (liveVersion) this.parts.precompressor.enqueue(slug, liveVersion)
    return this.details(account, slug)
  }

  /** Spec 4.8: live immediately. SITE_PENDING with nothing live, CONTENT_REFUSED, VALIDATION_ERROR beyond a limit. */
  async duplicate(caller: Caller, slug: string): Promise<DuplicateResponse> {
    const account = requireAccount(caller)
    const { store, blobs, addresses, plans, quotas, clock, blocklist, precompressor } = this.parts
    await blobs.assertSpace()
    const now = clock()
    const { read } = store
    const { liveVersionId } = await requireAccess(read, 'publish', { slug, account, now })
    const shown = liveVersionId === null ? undefined : await read.versions.findFiles(liveVersionId)
    await blocklist.assertFiles(shown ?? [])
    const [copy, versionId] = [newSlug(), newId(now)]
    const scope = { site: [slug, copy], account: account.id }
    await quotas.write(store, scope, async (tx) => {
      const site = await requireAccess(tx, 'publish', { slug, account, now })
      const live = site.liveVersionId ? await tx.versions.find(site.liveVersionId) : undefined
      if (!live) throw new ApiError('SITE_PENDING', 'This site has no published version to copy')
      const source = separateEmpty(live.files)
      const limits = fileLimits(await plans.limitsOfOwner(tx, account.id))
      const problems = validateManifest(source, limits, 0)
      if (problems.length > 0) throw validationError(problems)
      const made = { slug: copy, versionId, now }
      const version = versionCopy(live, { ...made, caller })
      await tx.sites.insert(siteCopy(site, { ...made, ownerId: account.id }), version)
      await copyThumbnail(tx, live, versionId)
      const contents = source.files.map(({ hash, size }) => ({ hash: hash!, size }))
      const hashes = contents.map(({ hash }) => hash)
      await tx.blobs.addReferences(copy, hashes)
      const owned = { visitsKey: copy, ownerId: account.id, network: null }
      const bytes = await countNewBytes(tx, owned, contents)
      await tx.notifyChanged(copy)
      await quotas.charge(tx, owned, { bytes, sites: 1 })
    })
    precompressor.enqueue(copy, versionId)
    return { slug: copy, siteUrl: addresses.site(copy), versionId, copiedFrom: slug, status: 'active' }
  }

  /** Contract, "Sites": it no longer expires. With `name` in the same step; unclaimed when it cannot have that. */
  async claim(
    account: Account,
    slug: string,
    { claimToken, name = slug }: ClaimRequest,
  ): Promise<ClaimResponse> {
    const { store, addresses, quotas, clock, names, precompressor } = this.parts
    if (name !== slug) names.assertAllowed(name)
    const siteUrl = addresses.site(name)
    const answer = { success: true, slug: name, siteUrl, expiresAt: null } as const
    const scope = { site: name === slug ? slug : [slug, name], account: account.id }
    let renamedVersionId: string | null = null
    const claimed = await quotas.write(store, scope, async (tx): Promise<ClaimResponse> => {
      const now = clock()
      const site = withClaimToken(await tx.sites.find(slug), claimToken)
      if (site.ownerId === account.id) {
        const expiresAt = toIsoOrNull(requireNotExpired(site, now).expiresAt)
        return { ...answer, slug, siteUrl: addresses.site(slug), expiresAt, alreadyOwned: true }
      }
      if (site.ownerId !== null)
        throw new ApiError('ALREADY_CLAIMED', 'Another account has claimed this site')
      requireChangeable(site, now)
      await assertNotBeingDeleted(tx, account)
      await tx.references.setOwner(site.visitsKey, account.id)
      const { bytes, own } = await tx.references.sum(site.visitsKey, account.id)
      const owned = { ownerId: account.id, network: null }
      await tx.sites.update(slug, { ...owned, expiresAt: null, updatedAt: now })
      await tx.notifyChanged(slug)
      const [charged, released] = [await sumVersions(tx, { slug, ...owned }), await sumVersions(tx, site)]
      await quotas.charge(tx, owned, { bytes: own + charged, sites: 1 })
      await releaseHolding(tx, site, { bytes: bytes + released, sites: 1 })
      if (name !== slug) {
        await renameWithin(tx, { account, site, name, now })
        renamedVersionId = site.liveVersionId
      }
      return answer
    })
    if (renamedVersionId) precompressor.enqueue(name, renamedVersionId)
    return claimed
  }

  /** Readable before signing in. A used token reveals only that it was used. */
  async claimPreview(slug: string, claimToken: string): Promise<ClaimPreview> {
    const found = withClaimToken(await this.parts.store.read.sites.find(slug), claimToken)
    if (found.ownerId !== null) return { slug, claimed: true }
    const site = requireNotExpired(found, this.parts.clock())
    const [summary] = await this.#summaries([site])
    const { siteUrl, status, title, iconUrl, thumbnailUrl } = summary!
    const { fileCount, totalBytes, createdAt, expiresAt, currentVersionId } = summary!
    return {
      ...{ slug, siteUrl, status, title, iconUrl, thumbnailUrl },
      ...{ fileCount, totalBytes, createdAt, expiresAt, claimed: false, currentVersionId },
    }
  }

  async #summaries(sites: readonly Site[]): Promise<Omit<SiteSummary, 'role' | 'suspension'>[]> {
    const { read } = this.parts.store
    const slugs = sites.map((site) => site.slug)
    const newestPending = await read.versions.listNewestPending(slugs)
    const pending = new Map(newestPending.map((version) => [version.slug, version]))
    const openThreads = await read.reviews.openThreads(slugs)
    const headers = await read.versions.headers(sites.flatMap((site) => site.liveVersionId ?? []))
    const live = new Map(headers.map((version) => [version.id, version]))
    return sites.map((site) => {
      const waiting = pending.get(site.slug)
      const current = site.liveVersionId ? live.get(site.liveVersionId) : undefined
      const displayed = current ?? waiting
      return {
        ...this.#fields(site, { shown: current, displayed, pending: waiting }),
        ...this.#preview(site, current),
        fileCount: displayed?.fileCount ?? 0,
        totalBytes: displayed?.totalBytes ?? 0,
        openThreads: openThreads.get(site.slug)?.threads ?? 0,
        openReview: openThreads.get(site.slug)?.previewName ?? null,
        ...describeTrash(site),
      }
    })
  }

  /** What details and summaries have in common. Browsers could not load a picture from a site with a password. */
  #fields(
    site: Site,
    { shown, displayed, pending }: Record<'shown' | 'displayed' | 'pending', VersionHeader | undefined>,
  ) {
    const { slug, createdAt, updatedAt, expiresAt, liveVersionId, passwordHash } = site
    const { addresses, trashLifetime } = this.parts
    const icon = passwordHash === null ? shown?.preview?.icon : undefined
    return {
      slug,
      siteUrl: addresses.site(slug),
      status: site.liveVersionId ? ('active' as const) : ('pending' as const),
      hasPassword: passwordHash !== null,
      restorable: isRestorable(site, trashLifetime),
      title: site.title ?? shown?.title ?? null,
      iconUrl: shown && icon ? addresses.previewFile(slug, shown.id, icon) : null,
      thumbnailUrl: shown ? addresses.thumbnail(shown) : null,
      versionId: displayed?.id ?? '',
      currentVersionId: liveVersionId,
      pendingVersionId: pending?.id ?? null,
      createdAt: toIso(createdAt),
      updatedAt: toIso(updatedAt),
      expiresAt: toIsoOrNull(expiresAt),
    }
  }

  #preview(site: Site, live: VersionHeader | undefined): Pick<SiteSummary, 'kind' | 'imageUrl'> {
    const preview = live?.preview
    const image = live && site.passwordHash === null && (site.ogImagePath ?? preview?.image)
    return {
      kind: preview?.kind ?? null,
      imageUrl: live && image ? this.parts.addresses.previewFile(site.slug, live.id, image) : null,
    }
  }
}

async function describeMemberships(
  queries: Queries,
  account: Account,
  sites: readonly Site[],
): Promise<Pick<SiteSummary, 'role' | 'ownerEmail' | 'suspension'>[]> {
  const others = new Set(sites.flatMap(({ ownerId }) => (ownerId === account.id ? [] : (ownerId ?? []))))
  const owners = new Map((await queries.accounts.byIds([...others])).map((owner) => [owner.id, owner]))
  return sites.map(({ ownerId, suspension }) => {
    if (ownerId === account.id)
      return { role: 'owner', ...describeSuspension({ suspension: suspension ?? account.suspension }) }
    const owner = owners.get(ownerId ?? '')
    const ofOwner = owner?.suspension && { ...owner.suspension, reason: OWNER_SUSPENDED }
    return {
      role: 'collaborator',
      ...(owner && { ownerEmail: owner.email }),
      ...describeSuspension({ suspension: suspension ?? ofOwner ?? null }),
    }
  })
}

/** Also for the account of an owner. */
export function describeSuspension(site: Pick<Site, 'suspension'>): Pick<SiteSummary, 'suspension'> {
  if (!site.suspension) return {}
  const { reason, since } = site.suspension
  return { suspension: { reason, since: toIso(since) } }
}

/** Its host no longer serves the pictures of a deleted site. */
function describeTrash({ deletedAt, keptUntil }: Site): Partial<SiteSummary> {
  if (deletedAt === null || keptUntil === null) return {}
  const pictures = { iconUrl: null, imageUrl: null, thumbnailUrl: null }
  return { ...pictures, deletedAt: toIso(deletedAt), deletedUntil: toIso(keptUntil) }
}

interface CopyOptions {
  slug: string
  versionId: string
  now: number
}

/**
 * A duplicate has the files and the metadata of the site, with the secrets in them that are declared public, but neither
 * password nor domains nor expiry (contract, "Sites"). Each other column is named, so that a new one is decided.
 */
function siteCopy(
  { allowedSecrets, ...site }: Site,
  { slug, ownerId, versionId, now }: CopyOptions & { ownerId: string },
): Site {
  return {
    ...publisherMetadata(site),
    ...{ allowedSecrets, slug, ownerId, visitsKey: slug, createdAt: now, updatedAt: now },
    ...{ isFinalized: true, liveVersionId: versionId, liveSince: now, previousVersionId: null },
    ...{ claimTokenHash: null, network: null, passwordHash: null, expiresAt: null },
    ...{ requireApproval: 'off', reviewKey: null, suspension: null, renamedTo: null },
    ...{ deletedAt: null, deletionReason: null, keptUntil: null, keptDomains: [] },
  }
}

/** As `siteCopy`. The encodings of its injected document are not copied, since that contains the URL. */
function versionCopy(
  version: Version,
  { slug, versionId: id, now, caller }: CopyOptions & { caller: Caller },
): Version {
  const { state, files, fileCount, totalBytes, rules, warnings, preview, title, contentHash } = version
  return {
    ...{ state, files, fileCount, totalBytes, rules, warnings, preview, title, contentHash },
    ...{ id, slug, createdAt: now, publishedAt: now, lastLiveAt: now },
    ...{ ...describePublisher(caller), baseVersionId: null, changes: null },
    ...{ metadata: {}, message: null, thumbnailHash: null, injectedDocumentHash: null, isEncoded: false },
    ...{ previewName: null, previewUntil: null, liveReload: false },
  }
}

async function copyThumbnail(tx: Queries, { id, thumbnailHash }: Version, copyId: string): Promise<void> {
  const picture = thumbnailHash === null ? undefined : await tx.versions.findThumbnail(id)
  if (picture) await tx.versions.setThumbnail(copyId, thumbnailHash!, picture)
}

async function assertKnownImage(tx: Queries, site: Site, path: string | null | undefined): Promise<void> {
  if (!path) return
  const version = site.liveVersionId
    ? await tx.versions.find(site.liveVersionId)
    : await tx.versions.newestPending(site.slug)
  const files = version ? version.files : []
  if (!hasImage(files, path)) throw validationError([notAnImageError('ogImagePath', path)])
}
