import { newSessionToken, type Secrets, Signer } from '../../lib/tokens.ts'

/** The hash of a grant, what distinguishes its tokens, and a MAC over both: 32 bytes each, in base64url. */
const TOKEN = /^([\w-]{43})([\w-]{43})([\w-]{43})$/

/**
 * A token names its grant, so that it is recognized when it is not stored any more. Only a node with a secret of the
 * service makes and recognizes tokens (docs/decisions/044-refresh-tokens.md).
 */
export class RefreshTokens {
  readonly #signer: Signer

  constructor(secret: Secrets) {
    this.#signer = new Signer(secret, 'oauth refresh tokens')
  }

  /** The first token is random. One that replaces another is the same on all nodes. */
  create(grantHash: string, replaced?: string): string {
    const grant = Buffer.from(grantHash, 'hex').toString('base64url')
    const id = replaced === undefined ? newSessionToken() : this.#signer.sign(['successor', replaced])
    return grant + id + this.#signer.sign(['token', grant, id])
  }

  /** Undefined for a text that the service has not made. */
  findGrant(token: string): string | undefined {
    const [, grant, id, mac] = TOKEN.exec(token) ?? []
    if (!grant || !this.#signer.verify(['token', grant, id!], mac!)) return undefined
    return Buffer.from(grant, 'base64url').toString('hex')
  }
}
