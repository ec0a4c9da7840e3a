import type { RequestLike } from '../../../packages/http-server/clients/client-ip.ts'
import { Component } from '../../lib/component.ts'
import { type GetOwner, LoadingCache } from '../../lib/loading-cache.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import { MINUTE_MS, SECOND_MS } from '../../lib/time.ts'
import { isId } from '../../lib/tokens.ts'
import { isReviewGrant, PreviewTokens, readPreviewExpiry } from '../../sites/preview-links.ts'
import type { ServedSite, ServedVersion, VersionReference } from '../../store/queries/serving.ts'
import { type ChangeEffects, NO_EFFECTS } from '../../store/store.ts'
import type { Suspension } from '../../store/tables/accounts.ts'
import type { Site } from '../../store/tables/sites.ts'
import type { EdgeOptions } from '../edge-options.ts'
import { reloadTag } from '../live-reload.ts'
import type { LocalizedPage } from '../respond/pages/error-pages.ts'
import type { ReviewFrames } from '../review.ts'
import { type BuildOptions, buildLiveSite, buildPreviewSite } from './build-site.ts'
import type { Host } from './host.ts'
import type { RouteTable } from './route-table.ts'

/** `expired` is an expired site; every other deleted site is `not-found`. */
export type Resolution = { kind: 'not-found' } | { kind: 'expired' } | SuspendedSite | Redirect | ResolvedSite

interface SuspendedSite {
  kind: 'suspended'
  preview: boolean
  page: LocalizedPage
}

export interface Redirect {
  kind: 'redirect'
  origin: string
  /** Whether the host name is the same: an owner may reverse the redirect between a root domain and its `www`. */
  isSameName: boolean
}

export interface ResolvedSite extends Pick<Site, 'slug' | 'visitsKey' | 'passwordHash' | 'reviewKey'> {
  kind: 'site'
  isAnonymous: boolean
  /** Milliseconds since 1970. The store may not record the expiry yet. */
  expiresAt: number | null
  /** For the password form; null for a site without a password. */
  title: string | null
  preview: boolean
  /** Of a preview, and of a preview link of the owner: when it ends. */
  previewUntil?: number | undefined
  liveReload?: string | undefined
  /** At the host of a review grant: with the script of the review in its documents. */
  framed?: RouteTable | undefined
  /** Undefined without a live or the requested version. */
  table: RouteTable | undefined
}

/** A domain, or a former name while sites have certificates of their own. */
interface ResolvedByScheme {
  kind: 'by-scheme'
  https: Resolution
  http: Resolution
  /** Until when they are valid: expiry of the certificate that they depend on (milliseconds since 1970). */
  expiresAt: number | undefined
  /** Of a former name: the new one has no certificate yet. */
  isUncovered?: boolean
}

type CachedHost = Resolution | ResolvedByScheme

type SiteResolverOptions = BuildOptions &
  Pick<
    EdgeOptions,
    'breaker' | 'budget' | 'clientIp' | 'clock' | 'https' | 'missLimiter' | 'secret' | 'store'
  > & {
    reviewFrames: Pick<ReviewFrames, 'tag'>
    /** Receives the table of a cached version of a site, and the one that takes its place. */
    onReplace?: (before: RouteTable, after: RouteTable) => void
  }

const NOT_FOUND: Resolution = { kind: 'not-found' }
const EXPIRED: Resolution = { kind: 'expired' }
/** Any number of versions can be requested of an expired site, so this is a negative result. */
const EXPIRED_PREVIEW: Resolution = { kind: 'expired' }
/** Measured bytes of a cached site and of a cached domain. */
const [SITE_BYTES, DOMAIN_BYTES] = [300, 400] as const
const SUSPENDED_BYTES = 10_000

/** At least as many as the operator's proxy has connections. */
const PROXY_LOOKUPS = { running: 8, waiting: 1000 }

/**
 * Caches until `invalidate`: a warm visit needs no query. The cache entry of a site owns those of its versions and
 * domains, and that of a domain owns the name that redirects to it.
 */
export class SiteResolver extends Component<SiteResolverOptions> {
  readonly #previewTokens = new PreviewTokens({ secret: this.parts.secret, kind: 'link' })
  readonly #reviewGrants = new PreviewTokens({ secret: this.parts.secret, kind: 'review' })
  readonly #proxyLookups = new Semaphore(PROXY_LOOKUPS)
  /** By slug, `<version id or preview name>--<slug>` and domain; a slug has no dot and no two hyphens in a row. */
  readonly #cache = new LoadingCache({
    breaker: this.parts.breaker,
    budget: this.parts.budget,
    load: (key, getOwner) => this.#load(key, getOwner),
    bytes: estimateBytes,
    isNegative,
    improveAfterMs,
    onReplace: (before, after) => {
      const [former, table] = [tableOf(before), tableOf(after)]
      if (former && table) this.parts.onReplace?.(former, table)
    },
  })

  /**
   * A promise only when the host is not cached. It rejects with UNAVAILABLE when the store is unreachable, and when
   * there are too many lookups of hosts that do not exist. Lookups for the operator's proxy have no client: only their
   * concurrency is limited.
   */
  resolve(host: Host, isSecure: boolean, client: RequestLike | undefined): Resolution | Promise<Resolution> {
    if (host.kind === 'service' || host.kind === 'unknown') return NOT_FOUND
    const { slot } = host
    if (!isSecure && host.kind !== 'domain' && this.parts.https?.coversSites())
      return this.#redirect(`${slot.key}.${this.parts.addresses.siteDomain}`, true, true)
    const cached = this.#cache.peekSlot(slot)
    if (cached && cached.kind !== 'by-scheme') return cached
    if (cached && (!this.#hasExpired(cached) || this.parts.breaker.isBlocking()))
      return this.#select(cached, isSecure)
    if (cached) this.#cache.invalidate(slot.key, 'outdated')
    return this.#resolveCold(slot.key, isSecure, client)
  }

  /** Without names, everything. Reads in progress are not cached. */
  invalidate(names: readonly string[] | undefined, effects: ChangeEffects = NO_EFFECTS): void {
    if (names === undefined) this.#cache.markStale()
    else {
      for (const name of names) this.#cache.invalidate(name, effects.get(name))
      this.parts.missLimiter.addKnown(names)
    }
  }

  async #resolveCold(key: string, isSecure: boolean, client: RequestLike | undefined): Promise<Resolution> {
    if (this.#cache.isLoading(key)) return this.#select(await this.#cache.get(key), isSecure)
    const { missLimiter, clientIp } = this.parts
    const load = () => this.#cache.get(key)
    if (!client) return this.#select(await this.#proxyLookups.run(load), isSecure)
    return this.#select(await missLimiter.run(key, clientIp(client), load, isNegative), isSecure)
  }

  /** The site itself where a redirect would lead to a certificate that has expired. */
  #select(cached: CachedHost, isSecure: boolean): Resolution {
    if (cached.kind !== 'by-scheme') return cached
    return isSecure || this.#hasExpired(cached) ? cached.https : cached.http
  }

  #hasExpired({ expiresAt }: ResolvedByScheme): boolean {
    return expiresAt !== undefined && this.parts.clock() >= expiresAt
  }

  async #load(key: string, getOwner: GetOwner<CachedHost>): Promise<CachedHost> {
    if (key.includes('.')) return this.#loadDomain(key, getOwner)
    const [label = '', slug] = key.split('--')
    if (slug === undefined) return this.#buildSite(await this.#find(label, { withLive: true }))
    return readPreviewExpiry(label) === undefined
      ? this.#loadPreview(label, slug, getOwner)
      : this.#loadPreviewLink(label, slug, await getOwner(slug))
  }

  #find(
    slug: string,
    requested: { withLive: boolean; version?: VersionReference },
  ): Promise<ServedSite | undefined> {
    const { store, clock } = this.parts
    return store.read.serving.findSite(slug, { now: clock(), ...requested })
  }

  async #buildSite(found: ServedSite | undefined): Promise<CachedHost> {
    const { site } = found ?? {}
    if (site?.deletionReason === 'expired') return EXPIRED
    if (site?.renamedTo) {
      // The visitor follows; the store may be unreachable when the next request arrives.
      this.#cache.loadSoon(site.renamedTo)
      return this.#loadFormerName(site.renamedTo)
    }
    if (!found || !site || site.deletedAt !== null) return NOT_FOUND
    if (found.suspension) return this.#suspended(found.suspension)
    const { slug, ownerId, visitsKey, expiresAt, passwordHash, reviewKey } = site
    return {
      kind: 'site',
      slug,
      isAnonymous: ownerId === null,
      visitsKey,
      expiresAt,
      passwordHash,
      reviewKey,
      title: passwordHash === null ? null : site.title,
      preview: false,
      table: await buildLiveSite(found, this.parts),
    }
  }

  /** The site's password and expiry apply to every version of it. */
  async #loadPreview(label: string, slug: string, getOwner: GetOwner<CachedHost>): Promise<Resolution> {
    const isCached = this.#cache.peekUnused(slug) !== undefined
    const version = isId(label) ? { id: label } : { previewName: label }
    const found = await this.#find(slug, { withLive: !isCached, version })
    const site = await getOwner(slug, isCached ? undefined : () => this.#buildSite(found))
    if (site.kind !== 'site') return this.#previewWithoutSite(site, slug, label)
    if (!found?.requested) return { ...site, preview: true, table: undefined }
    const { id, previewUntil, liveReload } = found.requested
    const reloads = liveReload && !isId(label)
    const table = await buildPreviewSite(found, this.parts, ...(reloads ? [reloadTag(id)] : []))
    const end = isId(label) ? versionEnd(found.requested) : (previewUntil ?? undefined)
    return { ...site, preview: true, table, previewUntil: end, liveReload: reloads ? id : undefined }
  }

  async #previewWithoutSite(site: CachedHost, slug: string, label: string): Promise<Resolution> {
    if (site.kind === 'expired') return EXPIRED_PREVIEW
    if (site.kind === 'suspended') return { ...site, preview: true }
    if (site.kind === 'not-found') return NOT_FOUND
    const current = await this.parts.store.read.sites.currentName(slug)
    return current === slug ? NOT_FOUND : this.#redirectToSite(`${label}--${current}`, false)
  }

  /** Without the password; nothing when its token is not valid. */
  async #loadPreviewLink(token: string, label: string, site: CachedHost): Promise<Resolution> {
    if (site.kind !== 'site') return this.#previewWithoutSite(site, label, token)
    const { slug, passwordHash, reviewKey } = site
    const isReview = isReviewGrant(token)
    const tokens = isReview ? this.#reviewGrants : this.#previewTokens
    const claims = { slug, passwordHash, reviewKey }
    const versions = await this.parts.store.read.versions.bySlug(slug)
    const version = versions.find(
      ({ id, state }) => state === 'ready' && tokens.verify(token, { ...claims, versionId: id }),
    )
    const found = version && (await this.#find(slug, { withLive: false, version: { id: version.id } }))
    if (!found?.requested) return { ...site, preview: true, table: undefined }
    const table = await buildPreviewSite(found, this.parts)
    const previewUntil = Math.min(readPreviewExpiry(token)!, versionEnd(found.requested) ?? Infinity)
    const { reviewFrames } = this.parts
    const framed = isReview ? await buildPreviewSite(found, this.parts, reviewFrames.tag) : undefined
    return { ...site, preview: true, table, framed, passwordHash: null, title: null, previewUntil }
  }

  #suspended({ publicReason }: Suspension): SuspendedSite {
    const { addresses, config, pages } = this.parts
    const contact = config.reportEmail === '' ? undefined : `mailto:${config.reportEmail}`
    const page = pages.suspended({ publicReason, contact, service: addresses.base })
    return { kind: 'suspended', preview: false, page }
  }

  async #loadFormerName(renamedTo: string): Promise<CachedHost> {
    const { addresses, https, store, clock } = this.parts
    const http = this.#redirectToSite(renamedTo, false)
    if (!https || https.coversSites()) return http
    const certificate = await store.read.certificates.findSummary(`${renamedTo}.${addresses.siteDomain}`)
    const expiresAt = certificate?.notAfter ?? 0
    return expiresAt > clock()
      ? { kind: 'by-scheme', https: this.#redirectToSite(renamedTo, true), http, expiresAt }
      : { kind: 'by-scheme', https: http, http, expiresAt: undefined, isUncovered: true }
  }

  /** `isCovered`: whether the host has a certificate of its own. */
  #redirectToSite(label: string, isCovered: boolean): Redirect {
    const { addresses, https } = this.parts
    if (https && !https.coversSites())
      return this.#redirect(`${label}.${addresses.siteDomain}`, isCovered, false)
    return { kind: 'redirect', origin: new URL(addresses.site(label)).origin, isSameName: false }
  }

  /** A secondary name redirects to the primary one; a name with a certificate redirects to HTTPS. */
  async #loadDomain(domain: string, getOwner: GetOwner<CachedHost>): Promise<CachedHost> {
    const { store, https, clock } = this.parts
    const found = await store.read.serving.findDomain(domain, clock())
    if (!found) return NOT_FOUND
    const { name, certificateNotAfter } = found
    const isSameName = name === domain
    const expiresAt = (https && certificateNotAfter) ?? 0
    const isCovered = expiresAt > clock()
    const redirect = this.#redirect(name, isCovered, isSameName)
    // A new certificate of the primary name, which invalidates that name only, changes this redirect too.
    const owner = isSameName
      ? await getOwner(found.site.slug, () => this.#buildSite(found))
      : await getOwner(name)
    const site = this.#select(owner, true)
    if (site.kind === 'not-found') return NOT_FOUND
    return {
      kind: 'by-scheme',
      https: !isSameName && (isCovered || !https) ? redirect : site,
      http: !isSameName || isCovered ? redirect : site,
      expiresAt: isCovered ? expiresAt : undefined,
    }
  }

  #redirect(name: string, isCovered: boolean, isSameName: boolean): Redirect {
    const { https, addresses } = this.parts
    if (!https) return { kind: 'redirect', origin: addresses.customDomainOrigin(name), isSameName }
    const port = https.port === 443 ? '' : `:${https.port}`
    const origin = isCovered ? `https://${name}${port}` : `http://${name}`
    return { kind: 'redirect', origin, isSameName }
  }
}

function tableOf(cached: CachedHost): RouteTable | undefined {
  return cached.kind === 'site' ? cached.table : undefined
}

/** When a version is deleted with the preview that shows it; undefined for one that was ever live, which is kept. */
function versionEnd({ publishedAt, previewUntil }: ServedVersion): number | undefined {
  return publishedAt === null ? (previewUntil ?? undefined) : undefined
}

function isNegative(loaded: CachedHost): boolean {
  if (loaded.kind === 'site') return loaded.preview && loaded.table === undefined
  if (loaded.kind === 'suspended') return loaded.preview
  return loaded.kind === 'not-found' || loaded === EXPIRED_PREVIEW
}

/** A renderer with too much work has time again soon; a document may also be lost for ever. */
const RENDER_AGAIN_MS = 10 * SECOND_MS

/** A new certificate changes its own name only. */
const REDIRECT_AGAIN_MS = MINUTE_MS

function improveAfterMs(loaded: CachedHost): number | undefined {
  if (loaded.kind === 'by-scheme') return loaded.isUncovered ? REDIRECT_AGAIN_MS : undefined
  const isIncomplete =
    loaded.kind === 'site' && [loaded.table, loaded.framed].some((table) => table?.renderError)
  return isIncomplete ? RENDER_AGAIN_MS : undefined
}

function estimateBytes(loaded: CachedHost): number {
  if (loaded.kind === 'by-scheme') return DOMAIN_BYTES
  if (loaded.kind === 'redirect') return SITE_BYTES
  if (loaded.kind === 'suspended') return SUSPENDED_BYTES
  if (loaded.kind !== 'site') return 0
  return SITE_BYTES + (loaded.table?.bytes ?? 0) + (loaded.framed?.bytes ?? 0)
}
