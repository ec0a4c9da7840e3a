import { createHash, createHmac, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'

/** Identifies the signer: the account's URL, or its public key before registration (RFC 8555, 6.2). */
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

  /** Parses PKCS#8 in PEM. */
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

/** Builds a signed request (RFC 8555, 6.2). An undefined payload means POST-as-GET. */
export function signRequest(
  { key, kid }: Signer,
  { url, nonce, payload }: { url: string; nonce: string; payload: object | undefined },
): string {
  const whose = kid === undefined ? { jwk: key.jwk } : { kid }
  return buildJws({ alg: 'ES256', ...whose, nonce, url }, payload, (text) => key.sign(text))
}

/** Binds an account key to an external account (RFC 8555, 7.3.4). `hmacKey` is base64url. */
export function createExternalBinding(
  key: AccountKey,
  { keyId, hmacKey, url }: { keyId: string; hmacKey: string; url: string },
): object {
  const mac = Buffer.from(hmacKey, 'base64url')
  const hmac = (text: string) => createHmac('sha256', mac).update(text).digest('base64url')
  return JSON.parse(buildJws({ alg: 'HS256', kid: keyId, url }, key.jwk, hmac))
}

function buildJws(header: object, payload: object | undefined, signed: (text: string) => string): string {
  const first = base64UrlJson(JSON.stringify(header))
  const second = payload === undefined ? '' : base64UrlJson(JSON.stringify(payload))
  return JSON.stringify({ protected: first, payload: second, signature: signed(`${first}.${second}`) })
}

function base64UrlJson(text: string): string {
  return Buffer.from(text).toString('base64url')
}
