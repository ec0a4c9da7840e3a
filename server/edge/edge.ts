import type { IncomingMessage } from 'node:http'
import type { VisitRecorder } from '../analytics/visit-recorder.ts'
import type { Blobs } from '../blobs/blobs.ts'
import type { RequestLike } from '../lib/client-ip.ts'
import type { MemoryReservation } from '../lib/client-memory.ts'
import { ApiError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import type { MemoryBudget } from '../lib/lru-cache.ts'
import type { InjectedDocuments } from '../sites/page-metadata/injected-document.ts'
import type { UrlBuilder } from '../sites/urls.ts'
import type { Store } from '../store/store.ts'
import { isChallenge, isValidation, respondToChallenge } from './acme-http-challenge.ts'
import { BodyCache } from './body/body-cache.ts'
import type { ChunkReader } from './body/chunk-reader.ts'
import type { ClientTracker } from './client-tracker.ts'
import { PasswordGate } from './password/password-gate.ts'
import type { EdgeRequest } from './request.ts'
import { type Host, Hosts } from './resolve/host.ts'
import type { Redirect, Resolution, Site } from './resolve/resolution.ts'
import { type HttpsInfo, SiteResolver } from './resolve/site-resolver.ts'
import type { RequestTarget } from './resolve/target.ts'
import {
  BAD_REQUEST,
  INTERNAL_ERROR,
  OPTIONS_RESPONSE,
  PAGE_NOT_FOUND,
  SITE_EXPIRED,
  SITE_NOT_FOUND,
  SITE_NOT_PUBLISHED,
  unavailable,
  VERSION_NOT_FOUND,
} from './respond/pages/error-pages.ts'
import { respond } from './respond/respond.ts'
import type { BlobSlice, EdgeResponse, EdgeResult } from './response.ts'
import { VisitCounter } from './visit-counter.ts'

interface EdgeOptions {
  store: Store
  blobs: Blobs
  addresses: UrlBuilder
  injectedDocuments: InjectedDocuments
  /** Milliseconds since 1970. */
  clock: () => number
  log: Log
  /** Signs the cookies of sites with a password. */
  secret: string
  /** The client's address, behind trusted proxies. */
  clientIp: (call: RequestLike) => string
  /** Memory budget of sites and files. */
  budget: MemoryBudget
  /** The HTTPS server of this process, if enabled. */
  https?: HttpsInfo | undefined
  /** Visit statistics, if enabled. */
  recorder?: VisitRecorder | undefined
}

/** A result with the body of its response, if it has one. */
export interface ResultWithBody extends EdgeResult {
  readonly body: Buffer | ChunkReader | undefined
}

/**
 * Serves visitors: host → site → version → path → bytes (contract, "Serving"). Cached data is served
 * synchronously, without the store; only cold requests wait. Nothing here throws or rejects: errors are
 * logged and have responses too. The protocol implementations write the responses.
 */
export class Edge {
  readonly #store: Store
  readonly #clock: () => number
  readonly #log: Log
  readonly #hosts: Hosts
  readonly #siteResolver: SiteResolver
  readonly #bodies: BodyCache
  readonly #gate: PasswordGate
  readonly #visitCounter: VisitCounter | undefined

  constructor({
    store,
    blobs,
    addresses,
    injectedDocuments,
    clock,
    log,
    secret,
    clientIp,
    budget,
    https,
    recorder,
  }: EdgeOptions) {
    this.#store = store
    this.#clock = clock
    this.#log = log
    this.#hosts = new Hosts(addresses)
    this.#siteResolver = new SiteResolver({ store, clock, budget, addresses, injectedDocuments, https })
    this.#bodies = new BodyCache({ blobs, budget })
    // Behind a TLS-terminating proxy no connection is encrypted here.
    const secure = addresses.base.startsWith('https:') && !https
    this.#gate = new PasswordGate({ store, clock, secret, secure, clientIp })
    const siteDomain = addresses.siteDomain.toLowerCase()
    this.#visitCounter = recorder && new VisitCounter({ recorder, clientIp, siteDomain })
  }

  /** Whether a Host header belongs to sites rather than to the API. */
  servesHost(host: string | undefined): boolean {
    return this.#hosts.read(host).kind !== 'service'
  }

  /**
   * Whether a host name in lower case may have a certificate of its own: the service itself or an active
   * custom domain. Hosts of sites are covered by a wildcard. UNAVAILABLE when it is not cached and the store
   * is unreachable.
   */
  async mayHaveCertificate(name: string): Promise<boolean> {
    const host = this.#hosts.read(name)
    if (host.kind === 'service') return this.#hosts.isApiHost(name)
    if (host.kind !== 'domain') return false
    const place = await this.#siteResolver.resolve(host, true)
    return place.kind === 'elsewhere' || (place.kind === 'site' && !this.#isExpired(place))
  }

  /** Invalidates these sites or domains; everything when undefined. For `store.onChange`. */
  invalidate(names: readonly string[] | undefined): void {
    this.#siteResolver.invalidate(names)
  }

  /**
   * The response to a GET or HEAD; a promise only when the store is needed, undefined when the host belongs
   * to no site.
   */
  respond(request: EdgeRequest): EdgeResult | Promise<EdgeResult> | undefined {
    if (isChallenge(request.target.path)) return this.#acmeChallenge(request).then(uncounted)
    const host = this.#hosts.read(request.host)
    return host.kind === 'service' ? undefined : this.#serve(host, request)
  }

  /** Counts a response that is sent to `client`, if it is to a visit of a site. */
  count(request: EdgeRequest, result: EdgeResult, client: ClientTracker): void {
    this.#visitCounter?.count(request, result, client)
  }

  /** The response to a posted password. */
  async submitPassword(asked: EdgeRequest, request: IncomingMessage): Promise<EdgeResponse> {
    try {
      const place = await this.#siteResolver.resolve(this.#hosts.read(asked.host), asked.isSecure)
      return (
        this.#notServable(place, asked) ?? (await this.#gate.submit(request, place as Site, asked.isSecure))
      )
    } catch (error) {
      // A client that disconnects before the form is complete is not an error.
      if (request.destroyed && !request.complete) return BAD_REQUEST
      return this.#failure(asked, error)
    }
  }

  /** The response to OPTIONS for any path, with the site's `_headers`, which a preflight needs. */
  async options(asked: EdgeRequest): Promise<EdgeResponse> {
    try {
      const place = await this.#siteResolver.resolve(this.#hosts.read(asked.host), asked.isSecure)
      const isOpen = place.kind === 'site' && !this.#isExpired(place) && place.passwordHash === null
      return (isOpen && place.table?.headers?.apply(OPTIONS_RESPONSE, asked)) || OPTIONS_RESPONSE
    } catch (error) {
      return this.#failure(asked, error)
    }
  }

  /** The bytes when they are cached. */
  peek(content: BlobSlice): Buffer | undefined {
    return this.#bodies.peek(content)
  }

  /**
   * A result with its body, or another response when the body cannot be read. The caller has to close a reader, whose
   * buffers are accounted in `memory`.
   */
  async withBody(
    request: EdgeRequest,
    { response, visit }: EdgeResult,
    memory?: MemoryReservation,
  ): Promise<ResultWithBody> {
    const { content } = response
    if (!content) return { response, visit, body: response.body }
    try {
      const body = await this.#bodies.open(content, memory)
      if (body !== undefined) return { response, visit, body }
    } catch (error) {
      return inline(this.#failure(request, error), visit)
    }
    this.reportCorruptBlob(request, content, new Error('the blob is missing or has another length'))
    if (!content.encoding) return inline(INTERNAL_ERROR, visit)
    return { ...(await this.#identityFallback(request, memory)), visit }
  }

  /** Logs that a published file could not be read to its end. */
  reportCorruptBlob({ host }: EdgeRequest, { path, hash, encoding }: BlobSlice, error: unknown): void {
    this.#log.error('cannot read a published file', { host, path, hash, encoding, error })
  }

  #serve(host: Host, request: EdgeRequest): EdgeResult | Promise<EdgeResult> {
    try {
      const place = this.#siteResolver.resolve(host, request.isSecure)
      if (!(place instanceof Promise)) return this.#respondFor(host, place, request)
      return place
        .then((found) => this.#respondFor(host, found, request))
        .catch((error: unknown) => uncounted(this.#failure(request, error)))
    } catch (error) {
      return uncounted(this.#failure(request, error))
    }
  }

  /**
   * The response to an ACME validation (RFC 8555, 8.3) on any host; otherwise the site's own file, without
   * redirects.
   */
  async #acmeChallenge(request: EdgeRequest): Promise<EdgeResponse> {
    const host = this.#hosts.read(request.host)
    try {
      const response = await respondToChallenge(this.#store, request, this.#clock())
      if (response) return response
    } catch (error) {
      this.#failure(request, error)
    }
    if (host.kind === 'service') return PAGE_NOT_FOUND
    return (await this.#serve(host, { ...request, isSecure: true })).response
  }

  #respondFor(host: Host, place: Resolution, request: EdgeRequest): EdgeResult {
    const notServable = this.#notServable(place, request)
    if (notServable) return uncounted(notServable)
    if (host.kind !== 'domain' && isValidation(request.target.path)) return uncounted(PAGE_NOT_FOUND)
    const site = place as Site
    if (!this.#gate.isAuthorized(site, request.headers.cookie))
      return uncounted(this.#gate.showForm(request.target, request.isSecure))
    if (!site.table) return uncounted(site.preview ? VERSION_NOT_FOUND : SITE_NOT_PUBLISHED)
    const now = this.#clock()
    const visit = this.#visitCounter?.begin(site, now)
    return { response: respond(site.table, request, now), visit }
  }

  #notServable(place: Resolution, { target }: EdgeRequest): EdgeResponse | undefined {
    if (place.kind === 'nothing') return SITE_NOT_FOUND
    if (place.kind === 'elsewhere')
      return isChallenge(target.path) ? PAGE_NOT_FOUND : redirectTo(place, target)
    return place.kind === 'gone' || this.#isExpired(place) ? SITE_EXPIRED : undefined
  }

  #isExpired({ expiresAt }: Site): boolean {
    return expiresAt !== null && this.#clock() >= expiresAt
  }

  /** Falls back to the file itself when an encoding is lost. */
  async #identityFallback(
    { host, isSecure, target, headers }: EdgeRequest,
    memory?: MemoryReservation,
  ): Promise<ResultWithBody> {
    const identityRequest = { host, isSecure, target, headers: { ...headers, 'accept-encoding': 'identity' } }
    const result = await this.respond(identityRequest)
    return this.withBody(identityRequest, result ?? uncounted(SITE_NOT_FOUND), memory)
  }

  #failure({ host, target }: EdgeRequest, error: unknown): EdgeResponse {
    const away = error instanceof ApiError
    this.#log[away ? 'warn' : 'error']('a visit failed', { host, path: target.path, error })
    return away ? unavailable(error.retryAfterSeconds ?? 5) : INTERNAL_ERROR
  }
}

/** A response that is not counted as a visit. */
function uncounted(response: EdgeResponse): EdgeResult {
  return { response, visit: undefined }
}

function inline(response: EdgeResponse, visit: string | undefined): ResultWithBody {
  return { response, visit, body: response.body }
}

/**
 * A redirect of the same path to another origin. Browsers may cache a redirect to HTTPS for a while; a cached
 * redirect to another name could form a loop with a later one in the other direction.
 */
function redirectTo({ origin, isSameName }: Redirect, { path, query }: RequestTarget): EdgeResponse {
  const location = `${origin}${path}${query}`
  const kept = isSameName ? 'public, max-age=3600' : 'public, max-age=0, must-revalidate'
  return { status: 308, headers: ['Location', location, 'Content-Length', '0', 'Cache-Control', kept] }
}
