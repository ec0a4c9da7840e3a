import { normalizeNfc } from '../../protocol/manifest/unicode.ts'
import {
  BUFFER_LIMITS,
  type NamedCount,
  type NameKind,
  ResponseCounter,
  type SiteStats,
} from '../analytics/stats-buffer.ts'
import type { VisitRecorder } from '../analytics/visit-recorder.ts'
import type { RequestLike } from '../lib/client-ip.ts'
import { hostName } from '../lib/host-name.ts'
import type { ClientTracker } from './client-tracker.ts'
import type { EdgeRequest } from './request.ts'
import { canonicalize } from './resolve/paths.ts'
import type { Site } from './resolve/resolution.ts'
import type { EdgeResponse } from './response.ts'

interface VisitCounterOptions {
  recorder: VisitRecorder
  clientIp: (call: RequestLike) => string
  siteDomain: string
}

/**
 * Counts visits of sites. Costs a few hundredths of a response: a repeated response at the same path for the
 * same visitor is one addition.
 */
export class VisitCounter {
  readonly #recorder: VisitRecorder
  readonly #clientIp: (call: RequestLike) => string
  readonly #siteDomain: string

  constructor({ recorder, clientIp, siteDomain }: VisitCounterOptions) {
    this.#recorder = recorder
    this.#clientIp = clientIp
    this.#siteDomain = siteDomain
  }

  /** Marks a request at `now` as a visit of a site. */
  begin(asked: EdgeRequest, site: Site, now: number): void {
    this.#recorder.rotateIfDue(now)
    asked.site = site
  }

  /** Counts a response to a visit of `asked.site`. */
  count(asked: EdgeRequest, answer: EdgeResponse, visitor: ClientTracker): void {
    const { counter } = answer
    if (
      counter === undefined ||
      counter.path !== asked.target.path ||
      counter.site.buffer !== this.#recorder.buffer ||
      counter.site.slug !== asked.site!.slug ||
      asked.isHead === true
    ) {
      this.#countFirst(asked, answer, visitor)
    } else {
      counter.requests++
      visitor.switchTo(counter.site, asked.headers)
      if (counter.isPage) this.#countPageView(asked, visitor)
    }
  }

  #countFirst(asked: EdgeRequest, answer: EdgeResponse, visitor: ClientTracker): void {
    const { isHead = false, site } = asked
    const counts = this.#recorder.site(site!.slug)
    if (!counts) return
    const isPage = answer.isPage === true && !isHead
    visitor.switchTo(counts, asked.headers)
    if (isPage) this.#countPageView(asked, visitor)
    const { path } = asked.target
    const bytes = isHead ? 0 : responseBytes(answer)
    const name = findNamedCount(counts, answer, path)
    if (isShortRequest(asked) && this.#attachCounter(answer, { site: counts, path, name, bytes, isPage }))
      return
    counts.requests++
    counts.bytes += bytes
    if (name) name.requests++
  }

  /** Counts a page view. */
  #countPageView(asked: EdgeRequest, visitor: ClientTracker): void {
    if (!visitor.isCounted) this.#registerVisitor(asked, visitor)
    if (visitor.referrer !== undefined) visitor.referrer.requests++
  }

  #registerVisitor({ headers, host }: EdgeRequest, visitor: ClientTracker): void {
    const counts = visitor.site!
    visitor.isCounted = true
    counts.addVisitor(visitor.fingerprint(this.#clientIp))
    if (headers.referer === undefined) return
    const from = refererHost(headers.referer)
    if (from === undefined || from === hostName(host) || this.#isSiteHost(counts.slug, from)) return
    visitor.referrer = counts.name('referrer', from)
  }

  /** Whether a host belongs to the site or one of its versions. */
  #isSiteHost(slug: string, host: string): boolean {
    const own = `${slug}.${this.#siteDomain}`
    return host === own || host.endsWith(`--${own}`)
  }

  /**
   * Attaches a counter to the response, so that its repetition is counted quickly; false when there are too
   * many.
   */
  #attachCounter(answer: EdgeResponse, of: ConstructorParameters<typeof ResponseCounter>[0]): boolean {
    const known = answer.counter
    const tally = known ?? new ResponseCounter(of)
    if (!of.site.buffer.register(tally)) return false
    tally.rebind(of)
    answer.counter = tally
    tally.requests = 1
    return true
  }
}

/**
 * Whether its path and query are short: a response that keeps its path may keep the query in memory with it.
 */
function isShortRequest({ isHead, target: { path, query } }: EdgeRequest): boolean {
  return isHead !== true && path.length + query.length <= BUFFER_LIMITS.name
}

/** The counter of the requested path; redirects and rejections are counted in totals only. */
function findNamedCount(counts: SiteStats, { status }: EdgeResponse, path: string): NamedCount | undefined {
  const kind: NameKind | undefined =
    status === 200 || status === 206 || status === 304 ? 'path' : status === 404 ? 'missing' : undefined
  if (kind === undefined) return undefined
  const name = toReadablePath(path)
  return name === undefined ? undefined : counts.name(kind, name)
}

/** A path in readable form, as it was published. Invalid sequences stay percent-encoded. */
function toReadablePath(path: string): string | undefined {
  const spelling = canonicalize(path)
  if (!spelling?.includes('%')) return spelling
  const name = normalizeNfc(decodeURI(spelling))
  if (!UNREADABLE.test(name)) return name
  // `spelled` maps an encoded slash to a null byte; scanners send the slash far more often.
  return ENCODED_SLASH.test(path) ? spelling.replaceAll('%00', '%2F') : spelling
}

const ENCODED_SLASH = /%2f/i

const UNREADABLE = /[\p{C}\p{Zl}\p{Zp}]/u

function responseBytes({ body, content }: EdgeResponse): number {
  if (!content) return body?.length ?? 0
  const { range, size } = content
  return range ? range.end - range.start + 1 : size
}

/** The host of a referring page, without its path and user information. */
export function refererHost(referer: string): string | undefined {
  const [, authority = ''] = /^https?:\/\/([^/?#\\]+)/i.exec(referer.slice(0, MAX_REFERER_LENGTH)) ?? []
  const host = hostName(authority.slice(authority.lastIndexOf('@') + 1))
  return HOST_PATTERN.test(host) ? host : undefined
}

const MAX_REFERER_LENGTH = 500
const HOST_PATTERN = /^(?=.{1,100}$)[a-z\d](?:[a-z\d.-]*[a-z\d])?$/
