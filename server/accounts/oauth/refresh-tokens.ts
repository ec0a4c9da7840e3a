import { newSessionToken, type Secrets, Signer } from '../../lib/tokens.ts'

/** The hash of a grant, what distinguishes its tokens, and a MAC over both: 32 bytes each, in base64url. */
const TOKEN = /^([\w-]{43})([\w-]{43})([\w-]{43})$/

/**
 * Refresh tokens, which name their grant: a token of the service is recognized when it is not stored any more. Only a
 * node with a secret of the service makes and recognizes them (docs/decisions/044-refresh-tokens.md).
 */
export class RefreshTokens {
  readonly #signer: Signer

  constructor(secret: Secrets) {
    this.#signer = new Signer(secret, 'oauth refresh tokens')
  }

  /** The first token of a grant, which is random; or the one that replaces another, which all nodes make the same. */
  create(grantHash: string, replaced?: string): string {
    const grant = Buffer.from(grantHash, 'hex').toString('base64url')
    const id = replaced === undefined ? newSessionToken() : this.#signer.sign(['successor', replaced])
    return grant + id + this.#signer.sign(['token', grant, id])
  }

  /** The hash of the grant of a token that the service has made; undefined for any other text. */
  findGrant(token: string): string | undefined {
    const [, grant, id, mac] = TOKEN.exec(token) ?? []
    if (!grant || !this.#signer.verify(['token', grant, id!], mac!)) return undefined
    return Buffer.from(grant, 'base64url').toString('hex')
  }
}
