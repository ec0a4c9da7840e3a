import type { RedirectRule } from '../redirect-rule.ts'
import type { Answer } from './answer.ts'
import type { Asked } from './asked.ts'
import type { Policy } from './policy.ts'
import { redirect } from './redirection.ts'
import { type Redirected, Redirects } from './redirects.ts'

/** The rules of a version's `_redirects`, those before its files and those after them. */
export class SiteRedirects {
  /** About what it holds in memory. */
  readonly bytes: number
  readonly #forced: Redirects | undefined
  readonly #others: Redirects | undefined
  readonly #policy: Policy
  /** What each rule said first, which is all it ever says when nothing of the request is in it. */
  readonly #answers = new Map<RedirectRule, Answer>()

  constructor(rules: readonly RedirectRule[], policy: Policy) {
    const { forced = [], others = [] } = Object.groupBy(rules, ({ force }) => (force ? 'forced' : 'others'))
    this.#forced = forced.length > 0 ? new Redirects(forced) : undefined
    this.#others = others.length > 0 ? new Redirects(others) : undefined
    this.#policy = policy
    this.bytes = (this.#forced?.bytes ?? 0) + (this.#others?.bytes ?? 0) + rules.length * ANSWER_BYTES
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
    return this.#others?.match({ path, query, host })
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
const LONGEST = 200
