import type { AcmeAccount } from './account.ts'
import type { AcmeError } from './acme.ts'
import type { Deadline } from './deadline.ts'
import type { AccountKey } from './jws.ts'
import { parseProblemBody, toAcmeError } from './problem.ts'
import type { SignedRequests } from './signed-requests.ts'
import type { HttpResponse } from './transport.ts'

export interface AcmeCall {
  url: string
  /** Undefined for POST-as-GET. */
  payload?: object
  /** What the request is for ("create an order"), for error messages. */
  action: string
}

/** Authenticated requests of the account. */
export class AcmeSession {
  readonly #account: AcmeAccount
  readonly #posts: SignedRequests
  readonly #clock: () => number

  constructor(parts: { account: AcmeAccount; posts: SignedRequests; clock: () => number }) {
    this.#account = parts.account
    this.#posts = parts.posts
    this.#clock = parts.clock
  }

  async key(deadline: Deadline): Promise<AccountKey> {
    return (await this.#account.open(deadline)).key
  }

  /** Sends a request and returns the response, 2xx only. */
  async request(call: AcmeCall, deadline: Deadline): Promise<HttpResponse> {
    const reply = await this.send(call, deadline)
    if (reply.status < 200 || reply.status >= 300) throw this.failure(reply, call)
    return reply
  }

  /**
   * Sends a request and returns any response. An account that the CA no longer knows is registered again
   * once, with the same key.
   */
  async send({ url, payload }: AcmeCall, deadline: Deadline): Promise<HttpResponse> {
    const signer = await this.#account.open(deadline)
    const reply = await this.#posts.send(signer, { url, payload }, deadline)
    if (reply.status < 400 || parseProblemBody(reply).type !== 'accountDoesNotExist') return reply
    await this.#account.invalidate(signer.kid)
    return this.#posts.send(await this.#account.open(deadline), { url, payload }, deadline)
  }

  failure(reply: HttpResponse, { action }: AcmeCall): AcmeError {
    return toAcmeError(reply, action, this.#clock())
  }
}
