import type { RequestLike } from '../../packages/http-server/clients/client-ip.ts'
import { hostName } from '../../packages/http-server/host-name.ts'
import type { HttpRequest, RequestHeaders } from '../../packages/http-server/http-handler.ts'
import { MAX_VISIT_NAME_LENGTH, type VisitNameKind } from '../../protocol/api/visits.ts'
import { normalizeNfc } from '../../protocol/manifest/unicode.ts'
import {
  type CounterTarget,
  type NamedCount,
  ResponseCounter,
  type SiteStats,
} from '../analytics/stats-buffer.ts'
import type { VisitRecorder } from '../analytics/visit-recorder.ts'
import { Component } from '../lib/component.ts'
import type { EdgeOptions } from './edge-options.ts'
import { canonicalize } from './paths.ts'
import type { ResolvedSite } from './resolve/site-resolver.ts'
import { bodyBytes, type EdgeResponse, type EdgeResult } from './response.ts'

interface VisitCounterOptions extends Pick<EdgeOptions, 'clientIp' | 'config'> {
  recorder: VisitRecorder
}

/** A response repeated for the same path and visitor costs one addition. */
export class VisitCounter extends Component<VisitCounterOptions> {
  readonly #siteDomain = this.parts.config.siteDomain
  readonly #counters = new WeakMap<EdgeResponse, ResponseCounter>()

  /** `now` in milliseconds since 1970; undefined for a preview, which is not counted. */
  begin({ visitsKey, preview }: ResolvedSite, now: number): string | undefined {
    if (preview) return undefined
    this.parts.recorder.rotateIfDue(now)
    return visitsKey
  }

  findCounter(response: EdgeResponse): ResponseCounter | undefined {
    return this.#counters.get(response)
  }

  count(request: HttpRequest, { response, visit }: EdgeResult, visitor: ClientTracker): void {
    if (visit === undefined) return
    const counter = this.findCounter(response)
    if (
      counter === undefined ||
      counter.path !== request.target.path ||
      counter.site.buffer !== this.parts.recorder.buffer ||
      counter.site.slug !== visit ||
      request.isHead === true
    ) {
      this.#countFirst(request, response, visit, visitor)
    } else {
      counter.requests++
      visitor.switchTo(counter.site, request.headers)
      if (counter.isPage) this.#countPageView(request, visitor)
    }
  }

  #countFirst(request: HttpRequest, response: EdgeResponse, slug: string, visitor: ClientTracker): void {
    const site = this.parts.recorder.site(slug)
    if (!site) return
    const { isHead = false } = request
    const isPage = response.isPage === true && !isHead
    visitor.switchTo(site, request.headers)
    if (isPage) this.#countPageView(request, visitor)
    const { path } = request.target
    const bytes = isHead ? 0 : bodyBytes(response)
    const name = findNamedCount(site, response, path)
    if (isShortRequest(request) && this.#attachCounter(response, { site, path, name, bytes, isPage })) return
    site.requests++
    site.bytes += bytes
    if (name) name.requests++
  }

  #countPageView(request: HttpRequest, visitor: ClientTracker): void {
    if (!visitor.isCounted) this.#registerVisitor(request, visitor)
    if (visitor.referrer !== undefined) visitor.referrer.requests++
  }

  #registerVisitor({ headers, host }: HttpRequest, visitor: ClientTracker): void {
    const counts = visitor.site!
    visitor.isCounted = true
    if (visitor.isBot()) return
    counts.addVisitor(visitor.fingerprint(this.parts.clientIp))
    if (headers.referer === undefined) return
    const from = refererHost(headers.referer)
    if (from === undefined || from === hostName(host) || this.#isSiteHost(counts.slug, from)) return
    visitor.referrer = counts.name('referrer', from)
  }

  #isSiteHost(slug: string, host: string): boolean {
    const own = `${slug}.${this.#siteDomain}`
    return host === own || host.endsWith(`--${own}`)
  }

  /** Lets repetitions of the response be counted quickly; false when there are too many counters. */
  #attachCounter(response: EdgeResponse, target: CounterTarget): boolean {
    const known = this.findCounter(response)
    const counter = known ?? new ResponseCounter()
    if (!target.site.buffer.register(counter)) return false
    if (!known) this.#counters.set(response, counter)
    counter.bind(target)
    counter.requests = 1
    return true
  }
}

/** A response that keeps its path may keep the query in memory with it. */
function isShortRequest({ isHead, target: { path, query } }: HttpRequest): boolean {
  return isHead !== true && path.length + query.length <= MAX_VISIT_NAME_LENGTH
}

/** Redirects and rejections are counted in totals only. */
function findNamedCount(counts: SiteStats, { status }: EdgeResponse, path: string): NamedCount | undefined {
  const kind: VisitNameKind | undefined =
    status === 200 || status === 206 || status === 304 ? 'path' : status === 404 ? 'missing' : undefined
  if (kind === undefined) return undefined
  const name = toReadablePath(path)
  return name === undefined ? undefined : counts.name(kind, name)
}

/** Readable, as published. Invalid sequences stay percent-encoded. */
function toReadablePath(path: string): string | undefined {
  const spelling = canonicalize(path)
  if (!spelling?.includes('%')) return spelling
  const name = normalizeNfc(decodeURI(spelling))
  if (!UNREADABLE.test(name)) return name
  // `canonicalize` maps an encoded slash to a null byte; scanners send the slash far more often.
  return ENCODED_SLASH.test(path) ? spelling.replaceAll('%00', '%2F') : spelling
}

const ENCODED_SLASH = /%2f/i

const UNREADABLE = /[\p{C}\p{Zl}\p{Zp}]/u

/** The host of a referring page, without its path and user information. */
function refererHost(referer: string): string | undefined {
  const [, authority = ''] = /^https?:\/\/([^/?#\\]+)/i.exec(referer.slice(0, MAX_REFERER_LENGTH)) ?? []
  const host = hostName(authority.slice(authority.lastIndexOf('@') + 1))
  return HOST_PATTERN.test(host) ? host : undefined
}

const MAX_REFERER_LENGTH = 500
const HOST_PATTERN = /^(?=.{1,100}$)[a-z\d](?:[a-z\d.-]*[a-z\d])?$/

/** Crawlers, link previews, monitors, command line tools and HTTP libraries. `bot` ends a word: Cubot makes phones. */
const PROGRAMS =
  /(?<!cu)bot(?![a-z])|crawl|spider|slurp|archiver|scan|monitor|uptime|pingdom|lighthouse|headless|phantomjs|preview|facebookexternalhit|whatsapp|feed|curl|wget|httpie|python|java\/|go-http|okhttp|axios|node|undici|ruby|perl|php|libwww|http-?client|postman/i

const SEARCHED_CHARACTERS = 300

/** Characters of the User-Agent that distinguish visitors. */
const MAX_USER_AGENT_LENGTH = 300

/** The client of a connection. Repeated requests to the same site with the same headers compute nothing. */
export class ClientTracker {
  site: SiteStats | undefined
  headers: RequestHeaders | undefined
  isCounted = false
  referrer: NamedCount | undefined
  readonly #socket: RequestLike['socket']
  #fingerprint: string | undefined
  #isBot: boolean | undefined

  constructor(socket: RequestLike['socket']) {
    this.#socket = socket
  }

  switchTo(counts: SiteStats, headers: RequestHeaders): void {
    if (headers === this.headers && counts === this.site) return
    if (headers !== this.headers) this.#fingerprint = this.#isBot = undefined
    this.site = counts
    this.headers = headers
    this.isCounted = false
    this.referrer = undefined
  }

  isBot(): boolean {
    const agent = this.headers?.['user-agent']
    this.#isBot ??= agent !== undefined && PROGRAMS.test(agent.slice(0, SEARCHED_CHARACTERS))
    return this.#isBot
  }

  /** Kept in memory only, until it is hashed. */
  fingerprint(addressOf: (call: RequestLike) => string): string {
    const headers = this.headers ?? {}
    this.#fingerprint ??= `${addressOf({ socket: this.#socket, headers })}\n${headers['user-agent']?.slice(0, MAX_USER_AGENT_LENGTH) ?? ''}`
    return this.#fingerprint
  }
}
