import { HeaderRules } from '../../site-rules/match/header-rules.ts'
import type { HeaderRule } from '../../site-rules/parse/header-rule.ts'
import type { Policy } from '../resolve/policy.ts'
import type { RuleInput } from '../resolve/target.ts'
import { type EdgeResponse, withHeaders } from '../response.ts'

/** A generated page allows its style sheet there; it runs nothing anyway. */
const GENERATED_PAGE_HEADERS = ['content-security-policy']

/** The rules of a version's `_headers`, applied to responses. */
export class SiteHeaders {
  /** Estimated memory in bytes, without caches. */
  readonly bytes: number
  readonly #rules: HeaderRules
  readonly #policy: Policy
  /** Whether any rule depends on the host. */
  readonly #byHost: boolean
  readonly #cache = new Map<string, WeakMap<EdgeResponse, EdgeResponse>>()

  constructor(rules: readonly HeaderRule[], policy: Policy) {
    this.#rules = new HeaderRules(rules)
    this.bytes = this.#rules.bytes
    this.#policy = policy
    this.#byHost = rules.some(({ host }) => host !== undefined)
  }

  /** The response with the rules applied; the same object when none matches. */
  apply(answer: EdgeResponse, { target, host }: RuleInput): EdgeResponse {
    const { protectedHeaders, protectedErrorHeaders } = this.#policy
    const ours = answer.status >= 400 ? protectedErrorHeaders : protectedHeaders
    const options = { kept: answer.body ? new Set([...ours, ...GENERATED_PAGE_HEADERS]) : ours }
    const headers = this.#rules.apply(target.path, host, answer.headers, options)
    return headers === answer.headers ? answer : withHeaders(answer, headers)
  }

  /** The same for a path of the version: cached, and the same object while `answer` is the same. */
  applyCached(answer: EdgeResponse, asked: RuleInput): EdgeResponse {
    if (this.#byHost) return this.apply(answer, asked)
    const { path } = asked.target
    const known = this.#cache.get(path) ?? new WeakMap<EdgeResponse, EdgeResponse>()
    const remembered = known.get(answer)
    if (remembered) return remembered
    const made = this.apply(answer, asked)
    this.#cache.set(path, known.set(answer, made))
    return made
  }
}
