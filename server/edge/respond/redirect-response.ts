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
