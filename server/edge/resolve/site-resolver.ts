import { LoadingCache } from '../../lib/loading-cache.ts'
import type { MemoryBudget } from '../../lib/lru-cache.ts'
import type { UrlBuilder } from '../../sites/urls.ts'
import type { DomainRow, SiteRow, VersionRow } from '../../store/schema.ts'
import type { Store } from '../../store/store.ts'
import { buildLiveSite, buildPreviewSite } from './build-site.ts'
import type { Host } from './host.ts'
import type { RouteTable } from './route-table.ts'

/** What a host resolves to. `gone` is an expired site; every other deleted site is `nothing`. */
export type Resolution = { kind: 'nothing' } | { kind: 'gone' } | Redirect | Site

/** A redirect of the requested path to another origin. */
export interface Redirect {
  kind: 'elsewhere'
  /** Scheme, host and port. */
  origin: string
  /**
   * Whether the host name is the same: an owner may reverse the redirect between a root domain and its `www`.
   */
  isSameName: boolean
}

/** A site, or one version of it at its own host. */
export interface Site {
  kind: 'site'
  slug: string
  /** Milliseconds since 1970 from which the site is expired, whatever the store says. */
  expiresAt: number | null
  passwordHash: string | null
  /** Whether this is the host of one version. */
  preview: boolean
  /** Undefined when nothing is published there: no live version, or no such finalized version. */
  table: RouteTable | undefined
  /** Generation of the cached site: results derived from an earlier one are invalid. */
  generation: number
}

/** A version at its own host, and the generation of its site. */
interface PreviewEntry {
  table: RouteTable | undefined
  generation: number
}

/** The slug of a custom domain, and the generation of that site. */
interface DomainEntry {
  slug: string | undefined
  generation: number
  /** Redirects for requests over HTTPS and without it. */
  httpsRedirect?: Redirect | undefined
  httpRedirect?: Redirect | undefined
  /** Expiry of the certificate that they depend on (milliseconds since 1970). */
  expiresAt?: number | undefined
}

interface SiteResolverOptions {
  store: Store
  clock: () => number
  budget: MemoryBudget
  addresses: UrlBuilder
  https: HttpsInfo | undefined
}

/** The HTTPS server of this process. */
export interface HttpsInfo {
  /** The public port. */
  port: number
  /** Whether the site domain has a certificate. */
  coversSites(): boolean
}

interface VersionName {
  slug: string
  versionId: string
}

/** Retries when a version was deleted between two queries. */
const MAX_READ_ATTEMPTS = 3

const NO_SITE_RESOLUTION: Resolution = { kind: 'nothing' }
const EXPIRED_RESOLUTION: Resolution = { kind: 'gone' }

/** Resolves hosts to sites and versions, cached until `invalidate`: a warm visit needs no query. */
export class SiteResolver {
  readonly #store: Store
  readonly #addresses: UrlBuilder
  readonly #clock: () => number
  readonly #sites: LoadingCache<Resolution>
  readonly #previews: LoadingCache<PreviewEntry>
  readonly #domains: LoadingCache<DomainEntry>
  readonly #https: HttpsInfo | undefined
  #generations = 0

  constructor({ store, clock, budget, addresses, https }: SiteResolverOptions) {
    this.#https = https
    this.#store = store
    this.#addresses = addresses
    this.#clock = clock
    const remembered = { clock, budget }
    this.#sites = new LoadingCache({
      ...remembered,
      load: (slug) => this.#readSite(slug),
      bytes: (place) => (place.kind === 'site' ? 300 + (place.table?.bytes ?? 0) : 0),
      isNegative: (place) => place.kind === 'nothing',
    })
    this.#previews = new LoadingCache({
      ...remembered,
      load: (name) => this.#readPreview(name),
      bytes: ({ table }) => 100 + (table?.bytes ?? 0),
      isNegative: (preview) => preview.table === undefined,
    })
    this.#domains = new LoadingCache({
      ...remembered,
      load: (domain) => this.#readDomain(domain),
      bytes: () => 100,
      isNegative: (pointer) => pointer.slug === undefined,
    })
  }

  /** The cached resolution of a host; undefined when the store is needed. */
  peek(host: Host, secure: boolean): Resolution | undefined {
    if (host.kind === 'domain') return this.#peekDomain(host.domain, secure)
    if (!secure && this.#https?.coversSites()) return this.#redirectForHost(host) ?? NO_SITE_RESOLUTION
    if (host.kind === 'site') return this.#sites.peek(host.slug, host.at)
    if (host.kind === 'version') return this.#peekPreview(host)
    return NO_SITE_RESOLUTION
  }

  /** The resolution of a host. UNAVAILABLE when it is not cached and the store is unreachable. */
  async resolve(host: Host, secure: boolean): Promise<Resolution> {
    if (host.kind === 'domain') return this.#findDomain(host.domain, secure)
    if (!secure && this.#https?.coversSites()) return this.#redirectForHost(host) ?? NO_SITE_RESOLUTION
    if (host.kind === 'site') return this.#sites.get(host.slug)
    if (host.kind === 'version') return this.#findPreview(host)
    return NO_SITE_RESOLUTION
  }

  /** Invalidates these sites or domains; without names, everything. Loads in progress are not cached. */
  invalidate(names: readonly string[] | undefined): void {
    if (names === undefined) {
      for (const remembered of [this.#sites, this.#previews, this.#domains]) remembered.markStale()
      return
    }
    for (const name of names) {
      if (name.includes('.')) this.#invalidateDomain(name)
      else this.#sites.invalidate(name)
    }
    // Only a domain is loaded before the site it depends on.
    this.#domains.cancelInFlight()
  }

  #peekPreview({ slug, versionId }: VersionName): Resolution | undefined {
    const site = this.#sites.peek(slug)
    if (site?.kind !== 'site') return site
    const preview = this.#previews.peek(`${versionId}--${slug}`)
    return preview?.generation === site.generation ? toPreview(site, preview) : undefined
  }

  async #findPreview({ slug, versionId }: VersionName): Promise<Resolution> {
    const name = `${versionId}--${slug}`
    const site = await this.#sites.get(slug)
    if (site.kind !== 'site') return site
    const preview = await this.#previews.get(name)
    if (preview.generation >= site.generation) return toPreview(site, preview)
    this.#previews.invalidate(name)
    return toPreview(site, await this.#previews.get(name))
  }

  /** A root domain and its `www` may redirect to each other. */
  #invalidateDomain(name: string): void {
    for (const one of [name, `www.${name}`, name.replace(/^www\./, '')]) this.#domains.invalidate(one)
  }

  #peekDomain(domain: string, secure: boolean): Resolution | undefined {
    const pointer = this.#domains.peek(domain)
    if (pointer && this.#hasExpired(pointer)) return undefined
    if (pointer?.slug === undefined) return pointer && NO_SITE_RESOLUTION
    const elsewhere = secure ? pointer.httpsRedirect : pointer.httpRedirect
    if (elsewhere) return elsewhere
    const site = this.#sites.peek(pointer.slug)
    return site?.kind === 'site' && site.generation === pointer.generation ? site : undefined
  }

  async #findDomain(domain: string, secure: boolean): Promise<Resolution> {
    const remembered = this.#domains.peek(domain)
    if (remembered && this.#hasExpired(remembered)) this.#domains.invalidate(domain)
    const pointer = await this.#domains.get(domain)
    const elsewhere = secure ? pointer.httpsRedirect : pointer.httpRedirect
    if (elsewhere) return elsewhere
    const place = await this.#resolveSite(pointer)
    if (place.kind !== 'site' || pointer.generation >= place.generation) return place
    this.#domains.invalidate(domain)
    return this.#resolveSite(await this.#domains.get(domain))
  }

  #hasExpired({ expiresAt }: DomainEntry): boolean {
    return expiresAt !== undefined && this.#clock() >= expiresAt
  }

  async #resolveSite({ slug }: DomainEntry): Promise<Resolution> {
    return slug === undefined ? NO_SITE_RESOLUTION : this.#sites.get(slug)
  }

  async #readSite(slug: string): Promise<Resolution> {
    const { read } = this.#store
    for (let attempt = 1; attempt <= MAX_READ_ATTEMPTS; attempt++) {
      const row = await read.sites.bySlug(slug)
      if (row?.gone_reason === 'expired') return EXPIRED_RESOLUTION
      if (!row || row.gone_at !== null) return NO_SITE_RESOLUTION
      const live = row.live_version_id ? await read.versions.byId(row.live_version_id) : undefined
      if (row.live_version_id && !live) continue
      return this.#site(row, live)
    }
    throw new Error(`site ${slug} has a live version that is not there`)
  }

  async #site(row: SiteRow, live: VersionRow | undefined): Promise<Site> {
    return {
      kind: 'site',
      slug: row.slug,
      expiresAt: row.expires_at,
      passwordHash: row.password_hash,
      preview: false,
      table: live && (await buildLiveSite(row, live, this.#context)),
      generation: ++this.#generations,
    }
  }

  async #readPreview(name: string): Promise<PreviewEntry> {
    const [versionId, slug] = name.split('--') as [string, string]
    const generation = getGeneration(await this.#sites.get(slug))
    const version = await this.#store.read.versions.byId(versionId)
    if (version?.slug !== slug || version.state !== 'ready') return { table: undefined, generation }
    const site = await this.#store.read.sites.bySlug(slug)
    const table = site && (await buildPreviewSite(site, version, this.#context))
    return { table, generation }
  }

  get #context() {
    return { read: this.#store.read, addresses: this.#addresses, now: this.#clock() }
  }

  async #readDomain(domain: string): Promise<DomainEntry> {
    const { read } = this.#store
    const row = await read.domains.active(domain)
    if (!row) return { slug: undefined, generation: 0 }
    const generation = getGeneration(await this.#sites.get(row.slug))
    return { slug: row.slug, generation, ...(await this.#redirectsFor(row)) }
  }

  /** A secondary name redirects to the primary one; a name with a certificate redirects to HTTPS. */
  async #redirectsFor({
    domain,
    account_id,
    primary_domain,
  }: DomainRow): Promise<Pick<DomainEntry, 'httpsRedirect' | 'httpRedirect' | 'expiresAt'>> {
    const { read } = this.#store
    const primary = primary_domain === null ? undefined : await read.domains.active(primary_domain)
    const name = primary?.account_id === account_id ? primary.domain : domain
    if (!this.#https) {
      const to = name === domain ? undefined : this.#addresses.customDomainOrigin(name)
      return { httpsRedirect: toRedirect(to, false), httpRedirect: toRedirect(to, false) }
    }
    const [certificate] = await read.certificates.summaries([name])
    const end = certificate?.not_after ?? 0
    const covered = end > this.#clock()
    const origin = covered ? this.#secureOrigin(name) : `http://${name}`
    const sameName = name === domain
    return {
      httpsRedirect: toRedirect(covered && !sameName ? origin : undefined, sameName),
      httpRedirect: toRedirect(covered || !sameName ? origin : undefined, sameName),
      expiresAt: covered ? end : undefined,
    }
  }

  #redirectForHost(host: Host): Redirect | undefined {
    if (host.kind !== 'site' && host.kind !== 'version') return undefined
    const label = host.kind === 'site' ? host.slug : `${host.versionId}--${host.slug}`
    return toRedirect(this.#secureOrigin(`${label}.${this.#addresses.siteDomain}`), true)
  }

  #secureOrigin(name: string): string {
    const { port } = this.#https!
    return `https://${name}${port === 443 ? '' : `:${port}`}`
  }
}

function toRedirect(origin: string | undefined, isSameName: boolean): Redirect | undefined {
  return origin === undefined ? undefined : { kind: 'elsewhere', origin, isSameName }
}

/** The site's password and expiry apply to every version of it. */
function toPreview(site: Site, { table }: PreviewEntry): Site {
  return { ...site, preview: true, table }
}

function getGeneration(place: Resolution): number {
  return place.kind === 'site' ? place.generation : 0
}
