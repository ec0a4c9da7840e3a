import { hasVariables, type RedirectRule } from '../../rules/redirect-rule.ts'
import type { Answer } from '../answer.ts'
import type { Asked } from '../asked.ts'
import type { Policy } from '../policy.ts'
import { redirect } from './redirection.ts'
import { type Redirected, Redirects } from './redirects.ts'

/** The rules of a version's `_redirects`, those before its files and those after them. */
export class SiteRedirects {
  /** About what it holds in memory. */
  readonly bytes: number
  readonly #forced: Redirects | undefined
  readonly #others: Redirects | undefined
  readonly #policy: Policy
  readonly #rules: number
  /** What each rule said first, which is all it ever says when nothing of the request is in it. */
  readonly #answers = new Map<RedirectRule, Answer>()
  /** What rules without variables said of a path without a query; undefined when hosts make a difference. */
  readonly #said: Map<string, Redirected> | undefined

  constructor(rules: readonly RedirectRule[], policy: Policy) {
    const { forced = [], others = [] } = Object.groupBy(rules, ({ force }) => (force ? 'forced' : 'others'))
    this.#forced = forced.length > 0 ? new Redirects(forced) : undefined
    this.#others = others.length > 0 ? new Redirects(others) : undefined
    this.#policy = policy
    this.#rules = rules.length
    this.#said = rules.some(({ host }) => host !== undefined) ? undefined : new Map()
    this.bytes =
      (this.#forced?.bytes ?? 0) + (this.#others?.bytes ?? 0) + rules.length * (ANSWER_BYTES + SAID_BYTES)
  }

  get haveForced(): boolean {
    return this.#forced !== undefined
  }

  /** What a rule that comes before the files says. */
  before({ target: { path, query }, host }: Asked): Redirected | undefined {
    return this.#forced?.match({ path, query, host })
  }

  /** What a rule that comes after the files says. */
  after({ target: { path, query }, host }: Asked): Redirected | undefined {
    const said = query === '' ? this.#said?.get(path) : undefined
    if (said) return said
    const redirected = this.#others?.match({ path, query, host })
    if (redirected && query === '' && !hasVariables(redirected.rule)) this.#remember(path, redirected)
    return redirected
  }

  #remember(path: string, redirected: Redirected): void {
    if (this.#said && this.#said.size < this.#rules && path.length <= LONGEST)
      this.#said.set(path, redirected)
  }

  /** The same object whenever a rule leads to the same place again. */
  answer({ rule, status, to }: Redirected): Answer {
    const known = this.#answers.get(rule)
    if (known?.headers[1] === to) return known
    const answer = redirect(status, to, this.#policy)
    if (!known && to.length <= LONGEST) this.#answers.set(rule, answer)
    return answer
  }
}

const ANSWER_BYTES = 400
const SAID_BYTES = 300
const LONGEST = 200
