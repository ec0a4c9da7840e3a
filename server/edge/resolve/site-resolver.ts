import type { RequestLike } from '../../lib/client-ip.ts'
import { LoadingCache } from '../../lib/loading-cache.ts'
import { PreviewTokens, readPreviewExpiry } from '../../sites/preview-links.ts'
import type { Domain } from '../../store/contract/domains.ts'
import type { EdgeOptions } from '../edge-options.ts'
import { type BuildOptions, buildLiveSite, buildPreviewSite } from './build-site.ts'
import type { Host } from './host.ts'
import type { Redirect, Resolution, ResolvedSite } from './resolution.ts'

/** An active custom domain. */
interface ResolvedDomain {
  kind: 'domain'
  /** Resolutions of requests over HTTPS and without it. */
  https: Resolution
  http: Resolution
  /** Expiry of the certificate that they depend on (milliseconds since 1970). */
  expiresAt: number | undefined
}

type CachedHost = Resolution | ResolvedDomain

/** Loads the cache entry that owns the one that is being loaded. */
type GetOwner = (key: string) => Promise<CachedHost>

type SiteResolverOptions = BuildOptions &
  Pick<EdgeOptions, 'breaker' | 'budget' | 'clientIp' | 'https' | 'missLimiter' | 'secret'>

/** Retries when a version was deleted between two queries. */
const MAX_READ_ATTEMPTS = 3

const NOT_FOUND: Resolution = { kind: 'not-found' }
const EXPIRED: Resolution = { kind: 'expired' }
/** Any number of versions can be requested of an expired site, so this is a negative result. */
const EXPIRED_PREVIEW: Resolution = { kind: 'expired' }
/** Measured bytes of a cached site and of a cached domain. */
const [SITE_BYTES, DOMAIN_BYTES] = [300, 400] as const

/**
 * Resolves hosts to sites and versions, cached until `invalidate`: a warm visit needs no query. The cache entry
 * of a site owns those of its versions and domains, and that of a domain owns the name that redirects to it.
 */
export class SiteResolver {
  readonly #options: SiteResolverOptions
  readonly #previewTokens: PreviewTokens
  /** By slug, `<version id>--<slug>` and domain; a slug has no dot and no two hyphens in a row. */
  readonly #cache: LoadingCache<CachedHost>

  constructor(options: SiteResolverOptions) {
    this.#options = options
    this.#previewTokens = new PreviewTokens(options.secret)
    this.#cache = new LoadingCache({
      breaker: options.breaker,
      budget: options.budget,
      load: (key, getOwner) => this.#load(key, getOwner),
      bytes: estimateBytes,
      isNegative,
    })
  }

  /**
   * The resolution of a host for a client; a promise only when it is not cached, which rejects with UNAVAILABLE when the
   * store is unreachable, and when there are too many lookups of hosts that do not exist.
   */
  resolve(host: Host, isSecure: boolean, client: RequestLike): Resolution | Promise<Resolution> {
    if (host.kind === 'service' || host.kind === 'unknown') return NOT_FOUND
    const { slot } = host
    if (!isSecure && host.kind !== 'domain' && this.#options.https?.coversSites())
      return this.#redirect(`${slot.key}.${this.#options.addresses.siteDomain}`, true, true)
    const cached = this.#cache.peekSlot(slot)
    if (cached && cached.kind !== 'domain') return cached
    if (cached && !this.#hasExpired(cached)) return select(cached, isSecure)
    if (cached) this.#cache.invalidate(slot.key)
    return this.#resolveCold(slot.key, isSecure, client)
  }

  /** Invalidates these sites or domains; without names, everything. Reads in progress are not cached. */
  invalidate(names: readonly string[] | undefined): void {
    if (names === undefined) this.#cache.markStale()
    else {
      for (const name of names) this.#cache.invalidate(name)
      this.#options.missLimiter.addKnown(names)
    }
  }

  async #resolveCold(key: string, isSecure: boolean, client: RequestLike): Promise<Resolution> {
    if (this.#cache.isLoading(key)) return select(await this.#cache.get(key), isSecure)
    const { missLimiter, clientIp } = this.#options
    const load = () => this.#cache.get(key)
    return select(await missLimiter.run(key, clientIp(client), load, isNegative), isSecure)
  }

  #hasExpired({ expiresAt }: ResolvedDomain): boolean {
    return expiresAt !== undefined && this.#options.clock() >= expiresAt
  }

  async #load(key: string, getOwner: GetOwner): Promise<CachedHost> {
    if (key.includes('.')) return this.#loadDomain(key, getOwner)
    const [label = '', slug] = key.split('--')
    return slug === undefined ? this.#loadSite(label) : this.#loadPreview(label, slug, await getOwner(slug))
  }

  async #loadSite(slug: string): Promise<Resolution> {
    const { read } = this.#options.store
    for (let attempt = 1; attempt <= MAX_READ_ATTEMPTS; attempt++) {
      const row = await read.sites.bySlug(slug)
      if (row?.deletionReason === 'expired') return EXPIRED
      if (row?.renamedTo) return this.#formerName(this.#options.addresses.site(row.renamedTo))
      if (!row || row.deletedAt !== null) return NOT_FOUND
      const live = row.liveVersionId ? await read.versions.byId(row.liveVersionId) : undefined
      if (row.liveVersionId && !live) continue
      return {
        kind: 'site',
        slug,
        visitsKey: row.visitsKey,
        expiresAt: row.expiresAt,
        passwordHash: row.passwordHash,
        title: row.passwordHash === null ? null : row.title,
        preview: false,
        table: live && (await buildLiveSite(row, live, this.#options)),
      }
    }
    throw new Error(`site ${slug} has a live version that is not there`)
  }

  /** The site's password and expiry apply to every version of it. */
  async #loadPreview(versionId: string, slug: string, site: CachedHost): Promise<Resolution> {
    const { read } = this.#options.store
    if (site.kind === 'redirect') {
      const current = await read.sites.findCurrentName(slug)
      return current ? this.#formerName(this.#options.addresses.preview(current, versionId)) : NOT_FOUND
    }
    if (site.kind !== 'site') return site.kind === 'expired' ? EXPIRED_PREVIEW : NOT_FOUND
    if (readPreviewExpiry(versionId) !== undefined) return this.#loadPreviewLink(versionId, site)
    const version = await read.versions.byId(versionId)
    if (version?.slug !== site.slug || version.state !== 'ready')
      return { ...site, preview: true, table: undefined }
    const row = await read.sites.bySlug(site.slug)
    const table = row && (await buildPreviewSite(row, version, this.#options))
    return { ...site, preview: true, table }
  }

  /** The version of a preview link, without the password; nothing when its token is not valid. */
  async #loadPreviewLink(token: string, site: ResolvedSite): Promise<Resolution> {
    const { store } = this.#options
    const { slug, passwordHash } = site
    const ids = (await store.read.versions.bySlug(slug)).flatMap(({ id, state }) =>
      state === 'ready' ? id : [],
    )
    const id = ids.find((versionId) => this.#previewTokens.verify(token, { slug, passwordHash, versionId }))
    const version = id === undefined ? undefined : await store.read.versions.byId(id)
    const row = await store.read.sites.bySlug(slug)
    if (!version || !row) return { ...site, preview: true, table: undefined }
    const table = await buildPreviewSite(row, version, this.#options)
    const previewUntil = readPreviewExpiry(token)
    return { ...site, preview: true, table, passwordHash: null, title: null, previewUntil }
  }

  #formerName(currentUrl: string): Redirect {
    return { kind: 'redirect', origin: new URL(currentUrl).origin, isSameName: false }
  }

  /** A secondary name redirects to the primary one; a name with a certificate redirects to HTTPS. */
  async #loadDomain(domain: string, getOwner: GetOwner): Promise<CachedHost> {
    const { store, https, clock } = this.#options
    const row = await store.read.domains.active(domain)
    if (!row) return NOT_FOUND
    const site = (await getOwner(row.slug)) as Resolution
    if (site.kind === 'not-found') return NOT_FOUND
    const name = await this.#findPrimaryName(row)
    const isSameName = name === domain
    // A new certificate of the primary name, which invalidates that name only, changes this redirect too.
    if (!isSameName) await getOwner(name)
    const [certificate] = https ? await store.read.certificates.summaries([name]) : []
    const expiresAt = certificate?.notAfter ?? 0
    const isCovered = expiresAt > clock()
    const redirect = this.#redirect(name, isCovered, isSameName)
    return {
      kind: 'domain',
      https: !isSameName && (isCovered || !https) ? redirect : site,
      http: !isSameName || isCovered ? redirect : site,
      expiresAt: isCovered ? expiresAt : undefined,
    }
  }

  /** The active name that a name redirects to; the name itself when there is none. */
  async #findPrimaryName({ domain, slug, accountId, primaryDomain }: Domain): Promise<string> {
    if (primaryDomain === null) return domain
    const primary = await this.#options.store.read.domains.active(primaryDomain)
    // Never a chain: names that redirect to each other would wait for each other's load.
    if (primary?.accountId !== accountId || primary.primaryDomain !== null) return domain
    // A name of another site would not leave the cache with this one.
    return primary.slug === slug ? primaryDomain : domain
  }

  #redirect(name: string, isCovered: boolean, isSameName: boolean): Redirect {
    const { https, addresses } = this.#options
    if (!https) return { kind: 'redirect', origin: addresses.customDomainOrigin(name), isSameName }
    const port = https.port === 443 ? '' : `:${https.port}`
    const origin = isCovered ? `https://${name}${port}` : `http://${name}`
    return { kind: 'redirect', origin, isSameName }
  }
}

function select(cached: CachedHost, isSecure: boolean): Resolution {
  return cached.kind !== 'domain' ? cached : isSecure ? cached.https : cached.http
}

function isNegative(loaded: CachedHost): boolean {
  if (loaded.kind === 'site') return loaded.preview && loaded.table === undefined
  return loaded.kind === 'not-found' || loaded === EXPIRED_PREVIEW
}

function estimateBytes(loaded: CachedHost): number {
  if (loaded.kind === 'domain') return DOMAIN_BYTES
  if (loaded.kind === 'redirect') return SITE_BYTES
  return loaded.kind === 'site' ? SITE_BYTES + (loaded.table?.bytes ?? 0) : 0
}
