import type {
  ClaimPreview,
  ClaimResponse,
  DeleteResponse,
  DuplicateResponse,
  MetadataRequest,
  SiteDetails,
  SiteList,
  SiteSummary,
} from '../../protocol/api/sites.ts'
import type { StoredFile } from '../../protocol/manifest/manifest.ts'
import {
  assertNotBeingDeleted,
  type Caller,
  requireAccount,
  requireClaimToken,
  requireNotExpired,
  requireOwner,
  withClaimToken,
} from '../accounts/authorization.ts'
import type { Blobs } from '../blobs/blobs.ts'
import { type DomainCertificates, removeDomainsOf } from '../domains/status.ts'
import { ApiError, validationError } from '../lib/errors.ts'
import { toIso, toIsoOrNull } from '../lib/time.ts'
import { newId } from '../lib/tokens.ts'
import type { Account } from '../store/contract/accounts.ts'
import type { SiteCursor } from '../store/queries/sites.ts'
import type { VersionSummaryRow } from '../store/queries/versions.ts'
import type { SiteRow, VersionRow } from '../store/schema.ts'
import type { Queries, Store, WriteTransaction } from '../store/store.ts'
import { updateReferences } from './blob-references.ts'
import { hashPassword } from './password.ts'
import { hasImage, metadataColumns, notAnImageError } from './site-metadata.ts'
import type { SitePreview } from './site-preview.ts'
import { isSlug, newSlug } from './slug.ts'
import type { UrlBuilder } from './urls.ts'

interface SitesOptions {
  store: Store
  blobs: Blobs
  addresses: UrlBuilder
  precompressor: { enqueue(slug: string, versionId: string): void }
  clock: () => number
  certificates?: DomainCertificates | undefined
}

/** Operations of an owner on whole sites (spec 4.7 to 4.10 and 4.12). */
export class Sites {
  readonly #store: Store
  readonly #blobs: Blobs
  readonly #addresses: UrlBuilder
  readonly #precompressor: SitesOptions['precompressor']
  readonly #clock: () => number
  readonly #certificates: DomainCertificates | undefined

  constructor(options: SitesOptions) {
    this.#store = options.store
    this.#blobs = options.blobs
    this.#addresses = options.addresses
    this.#precompressor = options.precompressor
    this.#clock = options.clock
    this.#certificates = options.certificates
  }

  /** Spec 4.7. NOT_FOUND for another owner's site. */
  async details(account: Account, slug: string): Promise<SiteDetails> {
    const { read } = this.#store
    const site = requireOwner(await read.sites.bySlug(slug), account, this.#clock())
    const pending = await read.versions.newestPending(slug)
    const shown = site.live_version_id ? await read.versions.byId(site.live_version_id) : pending
    return {
      slug,
      siteUrl: this.#addresses.site(slug),
      status: siteStatus(site),
      versionId: shown?.id ?? '',
      currentVersionId: site.live_version_id,
      pendingVersionId: pending?.id ?? null,
      title: site.title,
      description: site.description,
      ogImagePath: site.og_image_path,
      spaMode: site.spa_mode === 1,
      hasPassword: site.password_hash !== null,
      createdAt: toIso(site.created_at),
      updatedAt: toIso(site.updated_at),
      expiresAt: toIsoOrNull(site.expires_at),
      files: shown ? (JSON.parse(shown.files) as StoredFile[]) : [],
    }
  }

  /** A page of an account's sites, newest first; `nextCursor` is null on the last one. */
  async list(account: Account, options: { limit: number; cursor?: string | undefined }): Promise<SiteList> {
    const after = options.cursor === undefined ? undefined : decodeCursor(options.cursor)
    const rows = await this.#store.read.sites.byOwner(account.id, options.limit + 1, after)
    const page = rows.slice(0, options.limit)
    const last = rows.length > options.limit ? page.at(-1) : undefined
    return {
      publishes: await this.#summaries(page),
      nextCursor: last ? encodeCursor({ createdAt: last.created_at, slug: last.slug }) : null,
    }
  }

  /** Updates metadata. Absent fields stay, `null` clears; visible to visitors at once. */
  async updateMetadata(account: Account, slug: string, change: MetadataRequest): Promise<SiteDetails> {
    const passwordHash =
      typeof change.password === 'string' ? await hashPassword(change.password) : change.password
    const changesHead = [change.title, change.description, change.ogImagePath].some(
      (one) => one !== undefined,
    )
    const liveVersion = await this.#store.write('durable', async (tx) => {
      const now = this.#clock()
      const site = requireOwner(await tx.sites.bySlug(slug), account, now)
      await assertKnownImage(tx, site, change.ogImagePath)
      const secret = passwordHash === undefined ? {} : { password_hash: passwordHash }
      await tx.sites.update(slug, { ...metadataColumns(change, now), ...secret, updated_at: now })
      const { live_version_id: live } = site
      // The root document has other bytes now, whose encodings are missing.
      if (live && changesHead) await tx.versions.update(live, { encoded: 0 })
      await tx.notifyChanged(slug)
      return live
    })
    if (liveVersion) this.#precompressor.enqueue(slug, liveVersion)
    return this.details(account, slug)
  }

  /** Spec 4.8: creates a site, live at once. SITE_PENDING when the source was never finalized. */
  async duplicate(caller: Caller, slug: string): Promise<DuplicateResponse> {
    const account = requireAccount(caller)
    await this.#blobs.assertSpace()
    const now = this.#clock()
    const [copy, versionId] = [newSlug(), newId(now)]
    await this.#store.write('durable', async (tx) => {
      const site = requireOwner(await tx.sites.bySlug(slug), account, now)
      const live = site.live_version_id ? await tx.versions.byId(site.live_version_id) : undefined
      if (!live)
        throw new ApiError('SITE_PENDING', 'The site was never finalized, so there is nothing to duplicate')
      const publisher = { published_by: account.id, published_with: caller.signedInWith }
      await tx.sites.insert(siteCopy(site, copy, versionId, now))
      await tx.versions.insert({ ...versionCopy(live, copy, versionId, now), ...publisher })
      const files = JSON.parse(live.files) as StoredFile[]
      await tx.blobReferences.addReferences(
        copy,
        files.map((file) => file.hash!),
      )
      await tx.notifyChanged(copy)
    })
    this.#precompressor.enqueue(copy, versionId)
    return { slug: copy, siteUrl: this.#addresses.site(copy), versionId, copiedFrom: slug, status: 'active' }
  }

  /** Spec 4.9: deletes a site for visitors at once and for good. */
  async remove(account: Account, slug: string): Promise<DeleteResponse> {
    const now = this.#clock()
    const batches = await this.#store.write('durable', async (tx) => {
      requireOwner(await tx.sites.bySlug(slug), account, now)
      return deleteSite(tx, slug, 'deleted', now, this.#certificates)
    })
    await Promise.all(batches.map((batch) => this.#blobs.discard(batch)))
    return { slug, deleted: true }
  }

  /** Contract, "Sites": an anonymous site becomes the account's and no longer expires. */
  async claim(account: Account, slug: string, claimToken: string): Promise<ClaimResponse> {
    const answer = { success: true, slug, siteUrl: this.#addresses.site(slug), expiresAt: null } as const
    return this.#store.write('durable', async (tx) => {
      const now = this.#clock()
      const site = requireClaimToken(await tx.sites.bySlug(slug), claimToken, now)
      if (site.owner_id === account.id) return { ...answer, alreadyOwned: true as const }
      if (site.owner_id !== null)
        throw new ApiError('ALREADY_CLAIMED', 'The site was claimed by another account')
      await assertNotBeingDeleted(tx, account)
      await tx.sites.update(slug, { owner_id: account.id, expires_at: null, updated_at: now })
      await tx.notifyChanged(slug)
      return answer
    })
  }

  /** What the holder of a claim link sees before signing in. A token that was used tells nothing but that it was. */
  async claimPreview(slug: string, claimToken: string): Promise<ClaimPreview> {
    const found = withClaimToken(await this.#store.read.sites.bySlug(slug), claimToken)
    if (found.owner_id !== null) return { slug, claimed: true }
    const site = requireNotExpired(found, this.#clock())
    const [summary] = await this.#summaries([site])
    const { siteUrl, status, title, fileCount, totalBytes, createdAt, expiresAt, currentVersionId } = summary!
    return {
      ...{ slug, siteUrl, status, title, fileCount, totalBytes, createdAt, expiresAt },
      ...{ claimed: false, currentVersionId },
    }
  }

  async #summaries(sites: readonly SiteRow[]): Promise<SiteSummary[]> {
    const { read } = this.#store
    const pending = new Map<string, VersionSummaryRow>()
    for (const version of await read.versions.pendingOf(sites.map((site) => site.slug))) {
      pending.set(version.slug, version)
    }
    const live = new Map<string, VersionSummaryRow>()
    const ids = sites.flatMap((site) => site.live_version_id ?? [])
    for (const version of await read.versions.heads(ids)) live.set(version.id, version)
    return sites.map((site) => {
      const waiting = pending.get(site.slug)
      const current = site.live_version_id ? live.get(site.live_version_id) : undefined
      const shown = current ?? waiting
      return {
        slug: site.slug,
        siteUrl: this.#addresses.site(site.slug),
        status: siteStatus(site),
        title: site.title,
        hasPassword: site.password_hash !== null,
        ...this.#preview(site, current),
        versionId: shown?.id ?? '',
        currentVersionId: site.live_version_id,
        pendingVersionId: waiting?.id ?? null,
        fileCount: shown?.file_count ?? 0,
        totalBytes: shown?.total_bytes ?? 0,
        createdAt: toIso(site.created_at),
        updatedAt: toIso(site.updated_at),
        expiresAt: toIsoOrNull(site.expires_at),
      }
    })
  }

  /** Browsers could not load an image from a site with a password. */
  #preview(site: SiteRow, live: VersionSummaryRow | undefined): Pick<SiteSummary, 'kind' | 'imageUrl'> {
    const look = live?.look ? (JSON.parse(live.look) as SitePreview) : undefined
    const image = live && site.password_hash === null && (site.og_image_path ?? look?.image)
    return {
      kind: look?.kind ?? null,
      imageUrl: live && image ? this.#addresses.previewFile(site.slug, live.id, image) : null,
    }
  }
}

/**
 * Deletes a site with its versions, domains and references; the row stays, so that the slug is retired.
 * Returns the upload batches to discard after the commit.
 */
export async function deleteSite(
  tx: WriteTransaction,
  slug: string,
  reason: NonNullable<SiteRow['gone_reason']>,
  now: number,
  certificates?: DomainCertificates,
): Promise<string[]> {
  const versions = await tx.versions.bySlug(slug)
  for (const version of versions) await tx.versions.remove(version.id)
  await updateReferences(tx, slug, now)
  await removeDomainsOf(tx, slug, now, certificates)
  await tx.sites.update(slug, {
    live_version_id: null,
    previous_version_id: null,
    title: null,
    description: null,
    og_image_path: null,
    password_hash: null,
    gone_at: now,
    gone_reason: reason,
    updated_at: now,
  })
  await tx.notifyChanged(slug)
  return versions.filter((version) => version.state === 'pending').map((version) => version.id)
}

function siteStatus(site: SiteRow): 'pending' | 'active' {
  return site.live_version_id ? 'active' : 'pending'
}

/** A duplicate has neither password nor domains nor expiry (contract, "Sites"). */
function siteCopy(site: SiteRow, slug: string, versionId: string, now: number): SiteRow {
  return {
    ...site,
    slug,
    claim_token_hash: null,
    live_version_id: versionId,
    previous_version_id: null,
    live_since: now,
    password_hash: null,
    created_at: now,
    updated_at: now,
    expires_at: null,
  }
}

/** The encodings of its injected document are not copied, since that contains the URL. */
function versionCopy(version: VersionRow, slug: string, id: string, now: number): VersionRow {
  return {
    ...version,
    id,
    slug,
    viewer: '{}',
    base_version_id: null,
    created_at: now,
    published_at: now,
    front: null,
    encoded: 0,
  }
}

async function assertKnownImage(tx: Queries, site: SiteRow, path: string | null | undefined): Promise<void> {
  if (!path) return
  const version = site.live_version_id
    ? await tx.versions.byId(site.live_version_id)
    : await tx.versions.newestPending(site.slug)
  const files = version ? (JSON.parse(version.files) as StoredFile[]) : []
  if (!hasImage(files, path)) throw validationError([notAnImageError('ogImagePath', path)])
}

function encodeCursor(cursor: SiteCursor): string {
  return Buffer.from(`${cursor.createdAt}.${cursor.slug}`).toString('base64url')
}

function decodeCursor(text: string): SiteCursor {
  const [createdAt, slug, ...more] = Buffer.from(text, 'base64url').toString().split('.')
  if (!/^\d{1,15}$/.test(createdAt ?? '') || !slug || !isSlug(slug) || more.length > 0) {
    throw validationError([{ field: 'cursor', message: 'must be the nextCursor of an earlier page' }])
  }
  return { createdAt: Number(createdAt), slug }
}
