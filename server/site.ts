import type {
  ClaimAnswer,
  ClaimPreview,
  DeleteAnswer,
  DuplicateAnswer,
  MetadataRequest,
  SiteDetails,
  SiteList,
  SiteSummary,
} from '../client/wire.ts'
import type { Addresses } from './address.ts'
import type { Blobs } from './blobs/blobs.ts'
import { type DomainCertificates, endDomainsOf } from './domain/status.ts'
import { Failure, invalid } from './failure.ts'
import type { StoredFile } from './file.ts'
import { type Fronts, upToDate } from './front/fronts.ts'
import { newId } from './key.ts'
import type { Look } from './look.ts'
import { releaseNames } from './named-blobs.ts'
import { type Caller, claimable, ownedSite, refuseLeaver, signedIn } from './ownership.ts'
import { hashOfPassword } from './password.ts'
import { newSlug } from './slug.ts'
import type { SiteCursor } from './store/queries/sites.ts'
import type { VersionHead } from './store/queries/versions.ts'
import type { AccountRow, SiteRow, VersionRow } from './store/schema.ts'
import type { Queries, Store, Writing } from './store/store.ts'
import { iso, isoOrNull } from './time.ts'
import { hasImage, notAnImage, viewerColumns } from './viewer.ts'

interface SitesOptions {
  store: Store
  blobs: Blobs
  addresses: Addresses
  fronts: Fronts
  clock: () => number
  certificates?: DomainCertificates | undefined
}

/** What an owner does with sites as a whole (spec 4.7 to 4.10 and 4.12). */
export class Sites {
  readonly #store: Store
  readonly #blobs: Blobs
  readonly #addresses: Addresses
  readonly #fronts: Fronts
  readonly #clock: () => number
  readonly #certificates: DomainCertificates | undefined

  constructor(options: SitesOptions) {
    this.#store = options.store
    this.#blobs = options.blobs
    this.#addresses = options.addresses
    this.#fronts = options.fronts
    this.#clock = options.clock
    this.#certificates = options.certificates
  }

  /** Spec 4.7. NOT_FOUND for somebody else's site. */
  async details(account: AccountRow, slug: string): Promise<SiteDetails> {
    const { read } = this.#store
    const site = ownedSite(await read.sites.bySlug(slug), account, this.#clock())
    const pending = await read.versions.newestPending(slug)
    const shown = site.live_version_id ? await read.versions.byId(site.live_version_id) : pending
    return {
      slug,
      siteUrl: this.#addresses.site(slug),
      status: statusOf(site),
      versionId: shown?.id ?? '',
      currentVersionId: site.live_version_id,
      pendingVersionId: pending?.id ?? null,
      title: site.title,
      description: site.description,
      ogImagePath: site.og_image_path,
      spaMode: site.spa_mode === 1,
      hasPassword: site.password_hash !== null,
      createdAt: iso(site.created_at),
      updatedAt: iso(site.updated_at),
      expiresAt: isoOrNull(site.expires_at),
      files: shown ? (JSON.parse(shown.files) as StoredFile[]) : [],
    }
  }

  /** A page of an account's sites, newest first; `nextCursor` is null on the last one. */
  async list(
    account: AccountRow,
    options: { limit: number; cursor?: string | undefined },
  ): Promise<SiteList> {
    const after = options.cursor === undefined ? undefined : readCursor(options.cursor)
    const rows = await this.#store.read.sites.byOwner(account.id, options.limit + 1, after)
    const page = rows.slice(0, options.limit)
    const last = rows.length > options.limit ? page.at(-1) : undefined
    return {
      publishes: await this.#summaries(page),
      nextCursor: last ? writeCursor({ createdAt: last.created_at, slug: last.slug }) : null,
    }
  }

  /** Changes what is said of a site. Absent keeps, `null` clears; seen by visitors at once. */
  async describe(account: AccountRow, slug: string, change: MetadataRequest): Promise<SiteDetails> {
    const passwordHash =
      typeof change.password === 'string' ? await hashOfPassword(change.password) : change.password
    const { read } = this.#store
    await upToDate(async () => {
      const found = ownedSite(await read.sites.bySlug(slug), account, this.#clock())
      const said = { ...found, ...viewerColumns(change, 0) }
      await using front = await this.#fronts.make(said, await frontedBy(read, found, change))
      await this.#store.write('durable', async (tx) => {
        const now = this.#clock()
        const site = ownedSite(await tx.sites.bySlug(slug), account, now)
        await refuseUnknownImage(tx, site, change.ogImagePath)
        const columns = viewerColumns(change, now)
        const fronted = await frontedBy(tx, site, change)
        if (fronted) await this.#fronts.keep(tx, front, { ...site, ...columns }, fronted, now)
        const secret = passwordHash === undefined ? {} : { password_hash: passwordHash }
        await tx.sites.update(slug, { ...columns, ...secret, updated_at: now })
        await tx.changed(slug)
      })
    })
    return this.details(account, slug)
  }

  /** Spec 4.8: a new site, live at once. SITE_PENDING when the source was never finalized. */
  async duplicate(caller: Caller, slug: string): Promise<DuplicateAnswer> {
    const account = signedIn(caller)
    const now = this.#clock()
    const [copy, versionId] = [newSlug(), newId(now)]
    const copied = async (queries: Queries) => {
      const site = ownedSite(await queries.sites.bySlug(slug), account, now)
      const live = site.live_version_id ? await queries.versions.byId(site.live_version_id) : undefined
      if (!live)
        throw new Failure('SITE_PENDING', 'The site was never finalized, so there is nothing to duplicate')
      const made = { published_by: account.id, published_with: caller.signedInWith }
      return {
        site: siteCopy(site, copy, versionId, now),
        version: { ...versionCopy(live, copy, versionId, now), ...made },
      }
    }
    const { read } = this.#store
    await upToDate(async () => {
      const found = await copied(read)
      await using front = await this.#fronts.make(found.site, found.version)
      await this.#store.write('durable', async (tx) => {
        const { site, version } = await copied(tx)
        await tx.sites.insert(site)
        await tx.versions.insert(version)
        const files = JSON.parse(version.files) as StoredFile[]
        await tx.blobNames.name(
          copy,
          files.map((file) => file.hash!),
        )
        await this.#fronts.keep(tx, front, site, version, now)
        await tx.changed(copy)
      })
    })
    return { slug: copy, siteUrl: this.#addresses.site(copy), versionId, copiedFrom: slug, status: 'active' }
  }

  /** Spec 4.9: gone for visitors at once and for good. */
  async remove(account: AccountRow, slug: string): Promise<DeleteAnswer> {
    const now = this.#clock()
    const batches = await this.#store.write('durable', async (tx) => {
      ownedSite(await tx.sites.bySlug(slug), account, now)
      return endSite(tx, slug, 'deleted', now, this.#certificates)
    })
    await Promise.all(batches.map((batch) => this.#blobs.discard(batch)))
    return { slug, deleted: true }
  }

  /** Contract, "Sites": an anonymous site becomes the account's and no longer expires. */
  async claim(account: AccountRow, slug: string, claimToken: string): Promise<ClaimAnswer> {
    const answer = { success: true, slug, siteUrl: this.#addresses.site(slug), expiresAt: null } as const
    return this.#store.write('durable', async (tx) => {
      const now = this.#clock()
      const site = claimable(await tx.sites.bySlug(slug), claimToken, now)
      if (site.owner_id === account.id) return { ...answer, alreadyOwned: true as const }
      if (site.owner_id !== null)
        throw new Failure('ALREADY_CLAIMED', 'The site was claimed by another account')
      await refuseLeaver(tx, account)
      await tx.sites.update(slug, { owner_id: account.id, expires_at: null, updated_at: now })
      await tx.changed(slug)
      return answer
    })
  }

  /** What the holder of a claim link sees before signing in. */
  async claimPreview(slug: string, claimToken: string): Promise<ClaimPreview> {
    const site = claimable(await this.#store.read.sites.bySlug(slug), claimToken, this.#clock())
    const [summary] = await this.#summaries([site])
    const { siteUrl, status, title, fileCount, totalBytes, createdAt, expiresAt } = summary!
    const claimed = site.owner_id !== null
    const currentVersionId = claimed ? null : summary!.currentVersionId
    return {
      ...{ slug, siteUrl, status, title, fileCount, totalBytes, createdAt, expiresAt },
      ...{ claimed, currentVersionId },
    }
  }

  async #summaries(sites: readonly SiteRow[]): Promise<SiteSummary[]> {
    const { read } = this.#store
    const pending = new Map<string, VersionHead>()
    for (const version of await read.versions.pendingOf(sites.map((site) => site.slug))) {
      pending.set(version.slug, version)
    }
    const live = new Map<string, VersionHead>()
    const ids = sites.flatMap((site) => site.live_version_id ?? [])
    for (const version of await read.versions.heads(ids)) live.set(version.id, version)
    return sites.map((site) => {
      const waiting = pending.get(site.slug)
      const current = site.live_version_id ? live.get(site.live_version_id) : undefined
      const shown = current ?? waiting
      return {
        slug: site.slug,
        siteUrl: this.#addresses.site(site.slug),
        status: statusOf(site),
        title: site.title,
        hasPassword: site.password_hash !== null,
        ...this.#look(site, current),
        versionId: shown?.id ?? '',
        currentVersionId: site.live_version_id,
        pendingVersionId: waiting?.id ?? null,
        fileCount: shown?.file_count ?? 0,
        totalBytes: shown?.total_bytes ?? 0,
        createdAt: iso(site.created_at),
        updatedAt: iso(site.updated_at),
        expiresAt: isoOrNull(site.expires_at),
      }
    })
  }

  /** Nobody's browser would get a picture from a site with a password. */
  #look(site: SiteRow, live: VersionHead | undefined): Pick<SiteSummary, 'kind' | 'imageUrl'> {
    const look = live?.look ? (JSON.parse(live.look) as Look) : undefined
    const image = live && site.password_hash === null && (site.og_image_path ?? look?.image)
    return {
      kind: look?.kind ?? null,
      imageUrl: live && image ? this.#addresses.previewFile(site.slug, live.id, image) : null,
    }
  }
}

/**
 * Ends a site: no versions, no domains, nothing that is named; the row stays, so that the slug is retired.
 * Answers the batches of uploads that are to be discarded after the commit.
 */
export async function endSite(
  tx: Writing,
  slug: string,
  reason: NonNullable<SiteRow['gone_reason']>,
  now: number,
  certificates?: DomainCertificates,
): Promise<string[]> {
  const versions = await tx.versions.bySlug(slug)
  for (const version of versions) await tx.versions.remove(version.id)
  await releaseNames(tx, slug, now)
  await endDomainsOf(tx, slug, now, certificates)
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
  await tx.changed(slug)
  return versions.filter((version) => version.state === 'pending').map((version) => version.id)
}

function statusOf(site: SiteRow): 'pending' | 'active' {
  return site.live_version_id ? 'active' : 'pending'
}

/** The live version when a change may be seen in the head of its root document. */
async function frontedBy(
  queries: Queries,
  site: SiteRow,
  { title, description, ogImagePath }: MetadataRequest,
): Promise<VersionRow | undefined> {
  const isSeen = [title, description, ogImagePath].some((one) => one !== undefined)
  return isSeen && site.live_version_id ? queries.versions.byId(site.live_version_id) : undefined
}

/** What a duplicate has of its source: neither password nor domains nor an end (contract, "Sites"). */
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

/** Its front is its own, since that tells its address. */
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
  }
}

async function refuseUnknownImage(
  tx: Queries,
  site: SiteRow,
  path: string | null | undefined,
): Promise<void> {
  if (!path) return
  const version = site.live_version_id
    ? await tx.versions.byId(site.live_version_id)
    : await tx.versions.newestPending(site.slug)
  const files = version ? (JSON.parse(version.files) as StoredFile[]) : []
  if (!hasImage(files, path)) throw invalid([notAnImage('ogImagePath', path)])
}

function writeCursor(cursor: SiteCursor): string {
  return Buffer.from(`${cursor.createdAt}.${cursor.slug}`).toString('base64url')
}

function readCursor(text: string): SiteCursor {
  const [createdAt, slug] = Buffer.from(text, 'base64url').toString().split('.')
  if (!/^\d{1,15}$/.test(createdAt ?? '') || !slug) {
    throw invalid([{ field: 'cursor', message: 'must be the nextCursor of an earlier page' }])
  }
  return { createdAt: Number(createdAt), slug }
}
