import type { Directories } from './directory.ts'
import { type Signer, signedRequest } from './jws.ts'
import { Nonces } from './nonces.ts'
import type { Patience } from './patience.ts'
import { failureOf, problemOf } from './problem.ts'
import { away, type Reply, type Transport } from './transport.ts'

/** How often one request is sent with another nonce. */
const MOST_NONCES = 25

/** Signed requests (RFC 8555, 6). */
export class Posts {
  readonly #options: { transport: Transport; directories: Directories; clock: () => number }
  readonly #nonces = new Nonces()

  constructor(options: { transport: Transport; directories: Directories; clock: () => number }) {
    this.#options = options
  }

  /** What the CA answers, be it a failure. An undefined payload is that of POST-as-GET. */
  async send(
    signer: Signer,
    { url, payload }: { url: string; payload: object | undefined },
    patience: Patience,
  ): Promise<Reply> {
    for (let tries = 1; ; tries++) {
      const nonce = this.#nonces.take() ?? (await this.#newNonce(patience))
      const body = signedRequest(signer, { url, nonce, payload })
      const reply = await this.#options.transport.ask({ method: 'POST', url, body }, patience)
      const refused = reply.status === 400 && problemOf(reply).type === 'badNonce'
      // It may have forgotten the others too.
      if (refused) this.#nonces.drop()
      this.#nonces.keep(reply)
      if (!refused || tries === MOST_NONCES) return reply
    }
  }

  async #newNonce(patience: Patience): Promise<string> {
    const { transport, directories, clock } = this.#options
    const { newNonce } = await directories.get(patience)
    const reply = await transport.ask({ method: 'HEAD', url: newNonce }, patience)
    if (reply.status !== 200 && reply.status !== 204) throw failureOf(reply, 'give a nonce', clock())
    this.#nonces.keep(reply)
    const nonce = this.#nonces.take()
    if (nonce === undefined) throw away('gave no nonce')
    return nonce
  }
}
