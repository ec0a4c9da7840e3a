import type { Deadline } from './deadline.ts'
import type { DirectoryCache } from './directory.ts'
import { type Signer, signRequest } from './jws.ts'
import { NoncePool } from './nonces.ts'
import { parseProblemBody, toAcmeError } from './problem.ts'
import { type AcmeTransport, type HttpResponse, unreachable } from './transport.ts'

/** Maximum number of attempts of one request with a new nonce. */
const MAX_NONCE_RETRIES = 25

/** Signed requests (RFC 8555, 6). */
export class SignedRequests {
  readonly #options: { transport: AcmeTransport; directories: DirectoryCache; clock: () => number }
  readonly #nonces = new NoncePool()

  constructor(options: { transport: AcmeTransport; directories: DirectoryCache; clock: () => number }) {
    this.#options = options
  }

  /** Returns any response. An undefined payload means POST-as-GET. */
  async send(
    signer: Signer,
    { url, payload }: { url: string; payload: object | undefined },
    deadline: Deadline,
  ): Promise<HttpResponse> {
    for (let tries = 1; ; tries++) {
      const nonce = this.#nonces.take() ?? (await this.#newNonce(deadline))
      const body = signRequest(signer, { url, nonce, payload })
      const reply = await this.#options.transport.request({ method: 'POST', url, body }, deadline)
      const refused = reply.status === 400 && parseProblemBody(reply).type === 'badNonce'
      // The CA may have dropped the other nonces too.
      if (refused) this.#nonces.clear()
      this.#nonces.add(reply)
      if (!refused || tries === MAX_NONCE_RETRIES) return reply
    }
  }

  async #newNonce(deadline: Deadline): Promise<string> {
    const { transport, directories, clock } = this.#options
    const { newNonce } = await directories.get(deadline)
    const reply = await transport.request({ method: 'HEAD', url: newNonce }, deadline)
    if (reply.status !== 200 && reply.status !== 204) throw toAcmeError(reply, 'give a nonce', clock())
    this.#nonces.add(reply)
    const nonce = this.#nonces.take()
    if (nonce === undefined) throw unreachable('gave no nonce')
    return nonce
  }
}
