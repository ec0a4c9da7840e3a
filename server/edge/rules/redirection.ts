import type { Answer } from '../answer.ts'
import type { Policy } from '../policy.ts'

/** A redirect that a version makes of itself, such as to a folder's slash; the query goes along. */
export class Redirection {
  /** Percent-encoded, a path of the same host. */
  readonly location: string
  readonly #status: 301 | 302
  readonly #policy: Policy
  #answer: Answer | undefined

  constructor(location: string, status: 301 | 302, policy: Policy) {
    this.location = location
    this.#status = status
    this.#policy = policy
  }

  get kind(): 'redirection' {
    return 'redirection'
  }

  /** `query` with its question mark, or empty. */
  answer(query: string): Answer {
    if (query !== '') return redirect(this.#status, this.location + query, this.#policy)
    this.#answer ??= redirect(this.#status, this.location, this.#policy)
    return this.#answer
  }
}

/** Even a permanent one is asked for again each time: another version may say something else. */
export function redirect(status: number, location: string, { cacheControl, more }: Policy): Answer {
  const headers = ['Location', location, 'Content-Length', '0', 'Cache-Control', cacheControl].concat(more)
  return { status, headers }
}
