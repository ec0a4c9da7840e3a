import type { HttpRequest } from '../../../packages/http-server/http-handler.ts'
import { HeaderRules } from '../../site-rules/match/header-rules.ts'
import type { HeaderRule } from '../../site-rules/parse/header-rule.ts'
import { type EdgeResponse, withHeaders } from '../response.ts'
import type { Policy } from './policy.ts'

/** Only generated pages have one before the rules: it allows their style sheet, and they run nothing. */
const GENERATED_PAGE_HEADER = 'Content-Security-Policy'

/** Memory for cached responses of a version, and of each of its paths: several ordinary responses. */
const CACHE_BYTES = 10_000
const CACHE_BYTES_PER_PATH = 1000

const PATH_BYTES = 250
const ENTRY_BYTES = 40
const RESPONSE_BYTES = 130
const POINTER_BYTES = 10
const STRING_BYTES = 24

export class SiteHeaders {
  /** Estimated memory in bytes, with a full cache. */
  readonly bytes: number
  readonly #rules: HeaderRules
  readonly #policy: Policy
  readonly #byHost: boolean
  readonly #cache = new Map<string, WeakMap<EdgeResponse, EdgeResponse>>()
  readonly #maxCachedBytes: number
  #cachedBytes = 0

  constructor(rules: readonly HeaderRule[], policy: Policy, pathCount: number) {
    this.#rules = new HeaderRules(rules)
    this.#maxCachedBytes = CACHE_BYTES + CACHE_BYTES_PER_PATH * pathCount
    this.bytes = this.#rules.bytes + this.#maxCachedBytes
    this.#policy = policy
    this.#byHost = rules.some(({ host }) => host !== undefined)
  }

  /** The same object when no rule matches. */
  apply(response: EdgeResponse, { target, host }: HttpRequest): EdgeResponse {
    const { protectedHeaders, protectedErrorHeaders } = this.#policy
    const protectedNames = response.status >= 400 ? protectedErrorHeaders : protectedHeaders
    const kept = response.headers.includes(GENERATED_PAGE_HEADER)
      ? new Set([...protectedNames, GENERATED_PAGE_HEADER.toLowerCase()])
      : protectedNames
    const headers = this.#rules.apply(target.path, host, response.headers, { kept })
    return headers === response.headers ? response : withHeaders(response, headers)
  }

  /** Whether the responses of a path may be in no frame, not even in one of their site. */
  forbidsFrames(path: string): boolean {
    const lines = this.#rules.apply(path, '', [], { kept: new Set() })
    const text = lines.map((one, at) => one + (at % 2 === 0 ? ':' : '\n')).join('')
    return /^content-security-policy:.*frame-ancestors/im.test(text)
      ? /^content-security-policy:.*frame-ancestors(?![^;,\n]*\s(?:'self'|\*|https:)(?![^\s;,]))/im.test(text)
      : /^x-frame-options:.*\bdeny\b/im.test(text)
  }

  /** Returns the same object for the same `response` while it is cached. */
  applyCached(response: EdgeResponse, request: HttpRequest): EdgeResponse {
    // Each response to a range is a new object, which would only fill the cache.
    if (this.#byHost || response.status === 206 || response.status === 416)
      return this.apply(response, request)
    const { path } = request.target
    const cached = this.#cache.get(path)?.get(response)
    if (cached) return cached
    const modified = this.apply(response, request)
    this.#remember(path, response, modified)
    return modified
  }

  /** A full cache is cleared: the responses in use are soon cached again. */
  #remember(path: string, response: EdgeResponse, modified: EdgeResponse): void {
    const pathBytes = PATH_BYTES + path.length
    const responseBytes = this.#estimateBytes(response, modified)
    if (pathBytes + responseBytes > this.#maxCachedBytes) return
    if (this.#cachedBytes + pathBytes + responseBytes > this.#maxCachedBytes) {
      this.#cache.clear()
      this.#cachedBytes = 0
    }
    let known = this.#cache.get(path)
    if (!known) {
      known = new WeakMap()
      // A copy: a part of a target would keep its query.
      this.#cache.set(Buffer.from(path, 'latin1').toString('latin1'), known)
      this.#cachedBytes += pathBytes
    }
    known.set(response, modified)
    this.#cachedBytes += responseBytes
  }

  /** Header values that neither the rules nor `response` contain are strings of this response only. */
  #estimateBytes(response: EdgeResponse, modified: EdgeResponse): number {
    if (modified === response) return ENTRY_BYTES
    const shared = new Set(response.headers)
    const own = modified.headers.filter((text) => !shared.has(text) && !this.#rules.texts.has(text))
    const stringBytes = own.reduce((sum, text) => sum + STRING_BYTES + text.length, 0)
    return RESPONSE_BYTES + POINTER_BYTES * modified.headers.length + stringBytes
  }
}
