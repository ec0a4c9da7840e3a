import type { IncomingMessage } from 'node:http'
import type { RequestLike } from '../../packages/http-server/clients/client-ip.ts'
import type { MemoryReservation } from '../../packages/http-server/clients/client-memory.ts'
import type { HttpHandler, HttpRequest, RequestTarget } from '../../packages/http-server/http-handler.ts'
import { DamagedBlobError } from '../blobs/damage.ts'
import { Component } from '../lib/component.ts'
import { ApiError } from '../lib/errors.ts'
import { HSTS, maySendHsts } from '../lib/hsts.ts'
import type { LoggedRequest } from '../lib/request-log.ts'
import { OverloadError } from '../lib/semaphore.ts'
import { settlesWithin } from '../lib/settles-within.ts'
import { type SpanOptions, trace } from '../lib/telemetry.ts'
import { type ChangeEffects, NO_EFFECTS } from '../store/store.ts'
import { AcmeHttpChallenges, CHALLENGE_PREFIX, isValidation } from './acme-http-challenge.ts'
import { AnonymousNotice } from './anonymous-notice.ts'
import { BodyCache, discard, MAX_BUFFERED_FILE_BYTES } from './body/body-cache.ts'
import { preloadNewFiles } from './body/preload.ts'
import { buildResponse } from './build-response.ts'
import type { EdgeOptions } from './edge-options.ts'
import { LiveReload } from './live-reload.ts'
import { PasswordGate } from './password/password-gate.ts'
import { redirectToReport } from './report-link.ts'
import { RequestMetrics } from './request-metrics.ts'
import { type Host, Hosts } from './resolve/host.ts'
import type { RouteTable } from './resolve/route-table.ts'
import { type Redirect, type Resolution, type ResolvedSite, SiteResolver } from './resolve/site-resolver.ts'
import {
  BUSY,
  NOTICE_PATH,
  OPTIONS_RESPONSE,
  PASSWORD_OPTIONS_RESPONSE,
  PASSWORD_PATH,
} from './respond/pages/error-pages.ts'
import { REPORT_PATH } from './respond/pages/page-frame.ts'
import {
  type BlobSlice,
  bodyBytes,
  type EdgeResponse,
  type EdgeResult,
  type EdgeResultWithBody,
  withHeaders,
} from './response.ts'
import { ReviewFrames } from './review.ts'
import { ClientTracker, VisitCounter } from './visit-counter.ts'

const ERROR_NAMES = { 400: 'badRequest', 404: 'siteNotFound', 421: 'misdirected' } as const

/** Serves visitors (contract, "Serving"): cached data synchronously, without the store; only cold requests wait. */
export class Edge extends Component<EdgeOptions> implements HttpHandler {
  readonly #pages = this.parts.pages
  readonly #hosts = new Hosts(this.parts.addresses)
  readonly #reviewFrames = new ReviewFrames(this.parts.addresses)
  readonly #siteResolver = new SiteResolver({
    ...this.parts,
    reviewFrames: this.#reviewFrames,
    onReplace: (before, after) => void this.#preload(before, after),
  })
  readonly #challenges = new AcmeHttpChallenges(this.parts)
  readonly #bodies = new BodyCache(this.parts)
  readonly #gate = new PasswordGate(this.parts)
  readonly #notice =
    this.parts.config.anonymousNotice === 'page' ? new AnonymousNotice(this.parts) : undefined
  readonly #requestMetrics = new RequestMetrics(this.parts)
  readonly #visitCounter =
    this.parts.recorder && new VisitCounter({ ...this.parts, recorder: this.parts.recorder })
  readonly #liveReload = new LiveReload(this.parts)
  readonly #sendsHsts = this.parts.config.hsts === 'all' && maySendHsts(this.parts.addresses.base)

  servesHost(host: string | undefined): boolean {
    return this.#hosts.read(host).kind !== 'service'
  }

  /**
   * Whether a host name in lower case may have a certificate of its own: the service itself or an active custom domain.
   * Hosts of sites are covered by a wildcard. UNAVAILABLE when it is not cached and the store is unreachable.
   */
  async mayHaveCertificate(name: string): Promise<boolean> {
    const host = this.#hosts.read(name)
    if (host.kind === 'service') return this.#hosts.isApiHost(name)
    if (host.kind !== 'domain') return false
    const resolution = await this.#siteResolver.resolve(host, true, undefined)
    return (
      ['redirect', 'suspended'].includes(resolution.kind) ||
      (resolution.kind === 'site' && !this.#isExpired(resolution))
    )
  }

  /** Invalidates these sites or domains; everything when undefined. For `store.onChange`. */
  invalidate(names: readonly string[] | undefined, effects: ChangeEffects = NO_EFFECTS): void {
    this.#siteResolver.invalidate(names, effects)
    this.#liveReload.invalidate(names)
  }

  endWaiting(): void {
    this.#liveReload.end()
  }

  respond(request: HttpRequest): EdgeResult | Promise<EdgeResult> | undefined {
    if (request.target.path.startsWith(CHALLENGE_PREFIX)) return this.#acmeChallenge(request).then(uncounted)
    const host = this.#hosts.read(request.host)
    if (host.kind === 'service') return undefined
    return request.target.path === REPORT_PATH
      ? uncounted(redirectToReport(request, this.parts.addresses))
      : this.#serve(host, request)
  }

  async respondToMethod(request: HttpRequest, message: IncomingMessage): Promise<EdgeResponse> {
    try {
      return await this.#respondToMethod(request, message)
    } catch (error) {
      // A client that disconnects before the form is complete is not an error.
      if (message.destroyed && !message.complete) return this.#pages.badRequest.for(request.headers)
      return this.#failure(request, error)
    }
  }

  errorResponse(status: keyof typeof ERROR_NAMES | 503): EdgeResponse {
    return status === 503 ? BUSY : this.#pages[ERROR_NAMES[status]].for()
  }

  countRejected(response: EdgeResponse): void {
    this.#requestMetrics.countRejected(response)
  }

  trackClient(socket: RequestLike['socket']): ClientTracker {
    return new ClientTracker(socket)
  }

  count(request: HttpRequest, result: EdgeResult, client: ClientTracker): void {
    this.#requestMetrics.count(request, result)
    this.#visitCounter?.count(request, result, client)
    this.parts.requestLog?.add(toLoggedRequest(request, result))
  }

  peekBody({ content, body }: EdgeResponse): Buffer | undefined {
    return content ? this.#bodies.peek(content) : body
  }

  async openBody(
    request: HttpRequest,
    result: EdgeResult,
    memory?: MemoryReservation,
  ): Promise<EdgeResultWithBody> {
    const { startedAt = performance.now() } = result
    const span = visitSpan('visit body', request)
    const found = await trace(this.parts, span, () =>
      this.#openBody(request, result, { memory, isReloaded: false }),
    )
    return { ...found, cache: 'miss', startedAt }
  }

  async #openBody(
    request: HttpRequest,
    { response, visit }: EdgeResult,
    { memory, isReloaded }: { memory: MemoryReservation | undefined; isReloaded: boolean },
  ): Promise<EdgeResultWithBody> {
    const { content } = response
    if (!content) return { response, visit, body: response.body }
    const reportCorruptBlob = (error: unknown) => {
      const { path, hash, encoding, location } = content
      this.parts.log.summarize(
        'error',
        'cannot read a published file',
        { host: request.host, path, hash, encoding, object: location?.object, error },
        location?.object ?? hash,
      )
    }
    try {
      const opening = this.#bodies.open(content, memory, reportCorruptBlob)
      const plain = await this.#plainInstead(request, content, opening)
      if (plain) {
        void discard(opening)
        return { ...plain, visit }
      }
      const body = await opening.catch(undefinedIfDamaged)
      if (body !== undefined) return { response, visit, body }
      if (!isReloaded && (await this.#isOutdated(content)))
        return await this.#openBody(request, await this.#reload(request), { memory, isReloaded: true })
      reportCorruptBlob(new Error('the blob is missing or damaged'))
      if (!content.encoding) return inline(this.#pages.internalError.for(request.headers), visit)
      return { ...(await this.#identityFallback(request, memory)), visit }
    } catch (error) {
      return inline(this.#failure(request, error), visit)
    }
  }

  /** Files of the data folder need no preparation for an outage of a bucket. */
  async #preload(before: RouteTable, after: RouteTable): Promise<void> {
    const { config, breaker } = this.parts
    if (config.blobsUrl === '') return
    breaker.reloads++
    await preloadNewFiles(this.#bodies, before, after)
    breaker.reloads--
  }

  /** Whether the store has another location of a file than its cached site: encodings are deleted with their file. */
  async #isOutdated({ encoding, hash, injected, location }: BlobSlice): Promise<boolean> {
    if (encoding !== undefined) return false
    const current = await this.parts.store.read.blobs.find(injected?.publishedHash ?? hash)
    return current?.object !== location?.object
  }

  /** Reads the site again: this process has not been notified yet of a change in another one. */
  async #reload(request: HttpRequest): Promise<EdgeResult> {
    const resolution = await this.#resolve(request)
    if (resolution.kind === 'site') this.#siteResolver.invalidate([resolution.slug])
    return this.#serve(this.#hosts.read(request.host), request)
  }

  #showInReview({ table, framed }: ResolvedSite, request: HttpRequest, now: number): EdgeResult {
    const frames = this.#reviewFrames
    const response =
      frames.respond(request) ?? buildResponse(frames.isFramed(request) ? framed! : table!, request, now)
    return uncounted(frames.admit(response, request))
  }

  async #respondToMethod(request: HttpRequest, message: IncomingMessage): Promise<EdgeResponse> {
    const { method } = message
    if (method === 'POST' && request.target.path === NOTICE_PATH && this.#notice)
      return this.#notice.accept(request, message)
    const isForm = request.target.path === PASSWORD_PATH
    if (isForm && method === 'POST') return this.#submitPassword(request, message)
    if (isForm)
      return method === 'OPTIONS'
        ? PASSWORD_OPTIONS_RESPONSE
        : this.#pages.formMethodNotAllowed.for(request.headers)
    return method === 'OPTIONS'
      ? this.#optionsResponse(request)
      : this.#pages.methodNotAllowed.for(request.headers)
  }

  async #submitPassword(request: HttpRequest, message: IncomingMessage): Promise<EdgeResponse> {
    const resolution = await this.#resolve(request)
    return (
      this.#notServable(resolution, request) ??
      this.#gate.submit(message, resolution as ResolvedSite, request)
    )
  }

  /** The response to OPTIONS for any path, with the site's `_headers`, which a preflight needs. */
  async #optionsResponse(request: HttpRequest): Promise<EdgeResponse> {
    const resolution = await this.#resolve(request)
    const isOpen =
      resolution.kind === 'site' && !this.#isExpired(resolution) && resolution.passwordHash === null
    return (isOpen && resolution.table?.headers?.apply(OPTIONS_RESPONSE, request)) || OPTIONS_RESPONSE
  }

  #resolve(request: HttpRequest): Resolution | Promise<Resolution> {
    return this.#siteResolver.resolve(this.#hosts.read(request.host), request.isSecure, request)
  }

  /** With `isSecure` without a redirect to HTTPS. */
  #serve(host: Host, request: HttpRequest, isSecure = request.isSecure): EdgeResult | Promise<EdgeResult> {
    const { breaker, tracer } = this.parts
    const { staleHits } = breaker
    try {
      const resolution = tracer
        ? tracer.runIfAsync(visitSpan('visit', request), () =>
            this.#siteResolver.resolve(host, isSecure, request),
          )
        : this.#siteResolver.resolve(host, isSecure, request)
      const result =
        resolution instanceof Promise
          ? this.#buildMiss(host, resolution, request)
          : this.#buildResult(host, resolution, request)
      if (result instanceof Promise)
        return result.catch((error: unknown) => uncounted(this.#failure(request, error)))
      return breaker.staleHits === staleHits ? result : { ...result, cache: 'stale' }
    } catch (error) {
      return uncounted(this.#failure(request, error))
    }
  }

  async #buildMiss(host: Host, loading: Promise<Resolution>, request: HttpRequest): Promise<EdgeResult> {
    const startedAt = performance.now()
    const result = await this.#buildResult(host, await loading, request)
    return { ...result, cache: 'miss', startedAt }
  }

  /** The response to an ACME validation (RFC 8555, 8.3) on any host; otherwise the site's file, without redirects. */
  async #acmeChallenge(request: HttpRequest): Promise<EdgeResponse> {
    const host = this.#hosts.read(request.host)
    try {
      const response = await this.#challenges.findResponse(request)
      if (response) return response
    } catch (error) {
      this.#failure(request, error)
    }
    if (host.kind === 'service') return this.#pages.pageNotFound.for(request.headers)
    return (await this.#serve(host, request, true)).response
  }

  #buildResult(host: Host, resolution: Resolution, request: HttpRequest): EdgeResult | Promise<EdgeResult> {
    const result = this.#buildPlain(host, resolution, request)
    if (!this.#sendsHsts || !request.isSecure) return result
    return result instanceof Promise ? result.then(withHsts) : withHsts(result)
  }

  #buildPlain(host: Host, resolution: Resolution, request: HttpRequest): EdgeResult | Promise<EdgeResult> {
    const notServable = this.#notServable(resolution, request)
    if (notServable) return uncounted(notServable)
    if (host.kind !== 'domain' && isValidation(request.target.path))
      return uncounted(this.#pages.pageNotFound.for(request.headers))
    const site = resolution as ResolvedSite
    const locked = site.passwordHash === null ? undefined : this.#gate.respond(site, request)
    if (locked) return uncounted(locked)
    if (!site.table)
      return uncounted(
        (site.preview ? this.#pages.versionNotFound : this.#pages.siteNotPublished).for(request.headers),
      )
    const now = this.parts.clock()
    if (site.previewUntil !== undefined && now >= site.previewUntil)
      return uncounted(this.#pages.versionNotFound.for(request.headers))
    if (site.framed !== undefined) return this.#showInReview(site, request, now)
    if (site.liveReload !== undefined) {
      const reply = this.#respondToReload(site, request)
      if (reply !== undefined) return reply
    }
    const notice = site.isAnonymous ? this.#notice?.show(request) : undefined
    if (notice) return uncounted(notice)
    const visit = this.#visitCounter?.begin(site, now)
    return { response: buildResponse(site.table, request, now), visit }
  }

  #respondToReload(
    { slug }: ResolvedSite,
    request: HttpRequest,
  ): EdgeResult | Promise<EdgeResult> | undefined {
    const found = this.#liveReload.respond(request, slug, async () => {
      const now = await this.#resolve(request)
      return now.kind === 'site' ? now.liveReload : undefined
    })
    return found instanceof Promise ? found.then(uncounted) : found && uncounted(found)
  }

  #notServable(resolution: Resolution, { target, headers }: HttpRequest): EdgeResponse | undefined {
    if (resolution.kind === 'not-found') return this.#pages.siteNotFound.for(headers)
    if (resolution.kind === 'redirect')
      return target.path.startsWith(CHALLENGE_PREFIX)
        ? this.#pages.pageNotFound.for(headers)
        : redirectTo(resolution, target)
    if (resolution.kind === 'suspended') return resolution.page.for(headers)
    return resolution.kind === 'expired' || this.#isExpired(resolution)
      ? this.#pages.siteExpired.for(headers)
      : undefined
  }

  #isExpired({ expiresAt }: ResolvedSite): boolean {
    return expiresAt !== null && this.parts.clock() >= expiresAt
  }

  async #identityFallback(request: HttpRequest, memory?: MemoryReservation): Promise<EdgeResultWithBody> {
    const plain = withoutEncodings(request)
    const result = await this.respond(plain)
    return this.openBody(plain, result ?? uncounted(this.#pages.siteNotFound.for(plain.headers)), memory)
  }

  /** The file itself if it is in memory and its encoding cannot be read soon. The encoding is cached on arrival. */
  async #plainInstead(
    request: HttpRequest,
    { encoding, size }: BlobSlice,
    opening: Promise<unknown>,
  ): Promise<EdgeResultWithBody | undefined> {
    if (encoding === undefined || size > MAX_BUFFERED_FILE_BYTES) return undefined
    const isRead = opening.then(
      () => true,
      () => false,
    )
    if ((await settlesWithin(this.parts.deadlines.encodedBody, isRead)) && (await isRead)) return undefined
    const result = await this.respond(withoutEncodings(request))
    const body = result && this.peekBody(result.response)
    return body && { ...result, body }
  }

  #failure({ host, target, headers }: HttpRequest, error: unknown): EdgeResponse {
    const isUnavailable = error instanceof ApiError
    if (!(error instanceof OverloadError))
      this.parts.log.summarize(
        isUnavailable ? 'warn' : 'error',
        'a visit failed',
        { host, path: target.path, error },
        (error as Error).message,
      )
    return (
      isUnavailable ? this.#pages.unavailable(error.retryAfterSeconds ?? 5) : this.#pages.internalError
    ).for(headers)
  }
}

function withoutEncodings({ host, isSecure, target, headers, socket }: HttpRequest): HttpRequest {
  return { host, isSecure, target, headers: { ...headers, 'accept-encoding': 'identity' }, socket }
}

const HSTS_NAME = HSTS[0].toLowerCase()

const SECURED = new WeakMap<EdgeResponse, EdgeResponse>()

/** Adds HSTS, unless the site sends its own; memoized by response. */
function withHsts(result: EdgeResult): EdgeResult {
  const { response } = result
  let secured = SECURED.get(response)
  if (!secured) {
    const isSet = response.headers.some((name, at) => at % 2 === 0 && name.toLowerCase() === HSTS_NAME)
    secured = isSet ? response : withHeaders(response, [...response.headers, ...HSTS])
    SECURED.set(response, secured)
  }
  return { ...result, response: secured }
}

/** Wrong bytes are absent for visitors. */
function undefinedIfDamaged(error: unknown): undefined {
  if (!(error instanceof DamagedBlobError)) throw error
}

function uncounted(response: EdgeResponse): EdgeResult {
  return { response, visit: undefined }
}

function visitSpan(name: string, { host, target }: HttpRequest): SpanOptions {
  return { name, kind: 'server', attributes: { 'server.address': host, 'url.path': target.path } }
}

function toLoggedRequest(request: HttpRequest, { response }: EdgeResult): LoggedRequest {
  const { host, target, headers, socket, isHead, method = isHead ? 'HEAD' : 'GET' } = request
  const bytes = isHead ? 0 : bodyBytes(response)
  return { host, ...target, headers, socket, method, status: response.status, bytes }
}

function inline(response: EdgeResponse, visit: string | undefined): EdgeResultWithBody {
  return { response, visit, body: response.body }
}

/** Browsers may cache a redirect to HTTPS for a while; one to another name could form a loop with a later one back. */
function redirectTo({ origin, isSameName }: Redirect, { path, query }: RequestTarget): EdgeResponse {
  const location = `${origin}${path}${query}`
  const caching = isSameName ? 'public, max-age=3600' : 'public, max-age=0, must-revalidate'
  const headers = ['Location', location, 'Content-Length', '0', 'Cache-Control', caching]
  // A fetch of another origin, which the site may permit at its name, fails at a redirect that does not.
  return { status: 308, headers: [...headers, 'Access-Control-Allow-Origin', '*'] }
}
