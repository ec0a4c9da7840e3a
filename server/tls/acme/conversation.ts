import type { Account } from './account.ts'
import type { AcmeFailure } from './acme.ts'
import type { AccountKey } from './jws.ts'
import type { Patience } from './patience.ts'
import type { Posts } from './posts.ts'
import { failureOf, problemOf } from './problem.ts'
import type { Reply } from './transport.ts'

export interface Told {
  url: string
  /** Undefined for POST-as-GET. */
  payload?: object
  /** What the CA is asked to do ("take an order"), for whoever reads that it does not. */
  to: string
}

/** What the account says to the CA. */
export class Conversation {
  readonly #account: Account
  readonly #posts: Posts
  readonly #clock: () => number

  constructor(parts: { account: Account; posts: Posts; clock: () => number }) {
    this.#account = parts.account
    this.#posts = parts.posts
    this.#clock = parts.clock
  }

  async key(patience: Patience): Promise<AccountKey> {
    return (await this.#account.open(patience)).key
  }

  /** What the CA answers, 2xx only. */
  async tell(told: Told, patience: Patience): Promise<Reply> {
    const reply = await this.hear(told, patience)
    if (reply.status < 200 || reply.status >= 300) throw this.failure(reply, told)
    return reply
  }

  /** Whatever the CA answers. An account that it has forgotten is opened once more, with the same key. */
  async hear({ url, payload }: Told, patience: Patience): Promise<Reply> {
    const signer = await this.#account.open(patience)
    const reply = await this.#posts.send(signer, { url, payload }, patience)
    if (reply.status < 400 || problemOf(reply).type !== 'accountDoesNotExist') return reply
    await this.#account.forget(signer.kid)
    return this.#posts.send(await this.#account.open(patience), { url, payload }, patience)
  }

  failure(reply: Reply, { to }: Told): AcmeFailure {
    return failureOf(reply, to, this.#clock())
  }
}
