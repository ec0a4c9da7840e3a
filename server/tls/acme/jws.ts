import { createHash, createHmac, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'

/** How a request says whose it is: by the account's address, or by its key as long as it has none (RFC 8555, 6.2). */
export interface Signer {
  key: AccountKey
  kid?: string
}

/** The P-256 key of an account. */
export class AccountKey {
  readonly jwk: { crv: string; kty: string; x: string; y: string }
  /** RFC 7638. */
  readonly thumbprint: string
  readonly #key: KeyObject

  /** From PKCS#8 in PEM. */
  constructor(pem: string) {
    this.#key = createPrivateKey(pem)
    const { crv, kty, x, y } = createPublicKey(this.#key).export({ format: 'jwk' })
    this.jwk = { crv: crv!, kty: kty!, x: x!, y: y! }
    this.thumbprint = createHash('sha256').update(JSON.stringify(this.jwk)).digest('base64url')
  }

  sign(text: string): string {
    const key = { key: this.#key, dsaEncoding: 'ieee-p1363' } as const
    return sign('sha256', Buffer.from(text), key).toString('base64url')
  }
}

/** A signed request (RFC 8555, 6.2). An undefined payload is that of POST-as-GET. */
export function signedRequest(
  { key, kid }: Signer,
  { url, nonce, payload }: { url: string; nonce: string; payload: object | undefined },
): string {
  const whose = kid === undefined ? { jwk: key.jwk } : { kid }
  return joined({ alg: 'ES256', ...whose, nonce, url }, payload, (text) => key.sign(text))
}

/** Binds an account's key to an account that was made elsewhere (RFC 8555, 7.3.4). `hmacKey` is base64url. */
export function externalBinding(
  key: AccountKey,
  { keyId, hmacKey, url }: { keyId: string; hmacKey: string; url: string },
): object {
  const mac = Buffer.from(hmacKey, 'base64url')
  const hmac = (text: string) => createHmac('sha256', mac).update(text).digest('base64url')
  return JSON.parse(joined({ alg: 'HS256', kid: keyId, url }, key.jwk, hmac))
}

function joined(header: object, payload: object | undefined, signed: (text: string) => string): string {
  const first = encoded(JSON.stringify(header))
  const second = payload === undefined ? '' : encoded(JSON.stringify(payload))
  return JSON.stringify({ protected: first, payload: second, signature: signed(`${first}.${second}`) })
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64url')
}
