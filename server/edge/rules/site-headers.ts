import type { HeaderRule } from '../../rules/header-rule.ts'
import { type Answer, withHeaders } from '../answer.ts'
import type { Asked } from '../asked.ts'
import type { Policy } from '../policy.ts'
import { HeaderLines } from './header-lines.ts'

/** A page of our own names its style sheet there; it runs nothing anyway. */
const OWN = ['content-security-policy']

/** The rules of a version's `_headers`, applied to its answers. */
export class SiteHeaders {
  /** About what it holds in memory, without what it remembers. */
  readonly bytes: number
  readonly #lines: HeaderLines
  readonly #policy: Policy
  /** Whether the host of a request makes a difference. */
  readonly #byHost: boolean
  readonly #known = new Map<string, WeakMap<Answer, Answer>>()

  constructor(rules: readonly HeaderRule[], policy: Policy) {
    this.#lines = new HeaderLines(rules)
    this.bytes = this.#lines.bytes
    this.#policy = policy
    this.#byHost = rules.some(({ host }) => host !== undefined)
  }

  /** The answer with its header lines as the rules want them; the same one when they want nothing. */
  on(answer: Answer, { target, host }: Asked): Answer {
    const { kept, keptOnErrors } = this.#policy
    const ours = answer.status >= 400 ? keptOnErrors : kept
    const options = { kept: answer.body ? new Set([...ours, ...OWN]) : ours }
    const headers = this.#lines.apply(target.path, host, answer.headers, options)
    return headers === answer.headers ? answer : withHeaders(answer, headers)
  }

  /** The same for a path that the version has: remembered, and so the same object as long as `answer` is. */
  onKnown(answer: Answer, asked: Asked): Answer {
    if (this.#byHost) return this.on(answer, asked)
    const { path } = asked.target
    const known = this.#known.get(path) ?? new WeakMap<Answer, Answer>()
    const remembered = known.get(answer)
    if (remembered) return remembered
    const made = this.on(answer, asked)
    this.#known.set(path, known.set(answer, made))
    return made
  }
}
