import type { HttpRequest } from '../../../packages/http-server/http-handler.ts'
import { type RedirectMatch, RedirectMatcher } from '../../site-rules/match/redirect-matcher.ts'
import { isFullAddress } from '../../site-rules/parse/redirects-file.ts'
import { hasVariables, type RedirectRule } from '../../site-rules/redirect-rule.ts'
import type { EdgeResponse } from '../response.ts'
import type { Policy } from './policy.ts'

/** A redirect that a version implies, such as to a folder's slash; keeps the query. */
export class RedirectResponse {
  /** A percent-encoded path of the same host. */
  readonly location: string
  readonly #status: 301 | 302
  readonly #policy: Policy
  #response: EdgeResponse | undefined

  constructor(location: string, status: 301 | 302, policy: Policy) {
    this.location = location
    this.#status = status
    this.#policy = policy
  }

  get kind(): 'implied-redirect' {
    return 'implied-redirect'
  }

  /** `query` with its question mark, or empty. */
  toResponse(query: string): EdgeResponse {
    if (query !== '') return buildRedirect(this.#status, this.location + query, this.#policy)
    this.#response ??= buildRedirect(this.#status, this.location, this.#policy)
    return this.#response
  }
}

/** Even a permanent redirect is revalidated each time: another version may change it. */
export function buildRedirect(
  status: number,
  location: string,
  { cacheControl, extraHeaders }: Policy,
): EdgeResponse {
  const headers = ['Location', location, 'Content-Length', '0', 'Cache-Control', cacheControl].concat(
    extraHeaders,
  )
  return { status, headers }
}

/** The rules of a version's `_redirects`: those before its files and those after them. */
export class SiteRedirects {
  readonly bytes: number
  readonly #forced: RedirectMatcher | undefined
  readonly #others: RedirectMatcher | undefined
  readonly #policy: Policy
  readonly #ruleCount: number
  /** Valid for all requests when the rule has no placeholders. */
  readonly #responses = new Map<RedirectRule, EdgeResponse>()
  /** Results of rules without placeholders for paths without a query; undefined when rules or targets name a host. */
  readonly #cache: Map<string, RedirectMatch> | undefined

  constructor(rules: readonly RedirectRule[], policy: Policy) {
    const { forced = [], others = [] } = Object.groupBy(rules, ({ force }) => (force ? 'forced' : 'others'))
    this.#forced = forced.length > 0 ? new RedirectMatcher(forced) : undefined
    this.#others = others.length > 0 ? new RedirectMatcher(others) : undefined
    this.#policy = policy
    this.#ruleCount = rules.length
    const isOfHost = ({ host, to }: RedirectRule) => host !== undefined || isFullAddress(to)
    this.#cache = rules.some(isOfHost) ? undefined : new Map()
    this.bytes =
      (this.#forced?.bytes ?? 0) +
      (this.#others?.bytes ?? 0) +
      rules.length * (RESPONSE_BYTES + CACHE_ENTRY_BYTES)
  }

  get hasForced(): boolean {
    return this.#forced !== undefined
  }

  matchForced({ target: { path, query }, host }: HttpRequest): RedirectMatch | undefined {
    return this.#forced?.match({ path, query, host })
  }

  matchOthers({ target: { path, query }, host }: HttpRequest): RedirectMatch | undefined {
    const cached = query === '' ? this.#cache?.get(path) : undefined
    if (cached) return cached
    const redirected = this.#others?.match({ path, query, host })
    if (redirected && query === '' && !hasVariables(redirected.rule)) this.#remember(path, redirected)
    return redirected
  }

  #remember(path: string, redirected: RedirectMatch): void {
    if (this.#cache && this.#cache.size < this.#ruleCount && path.length <= MAX_CACHED_PATH_LENGTH)
      this.#cache.set(path, redirected)
  }

  /** The same object for the same target. */
  toResponse({ rule, status, to }: RedirectMatch): EdgeResponse {
    const previous = this.#responses.get(rule)
    if (previous?.headers[1] === to) return previous
    const response = buildRedirect(status, to, this.#policy)
    if (!previous && to.length <= MAX_CACHED_PATH_LENGTH) this.#responses.set(rule, response)
    return response
  }
}

const RESPONSE_BYTES = 400
const CACHE_ENTRY_BYTES = 300
const MAX_CACHED_PATH_LENGTH = 200
