import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto'

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

/** A new P-256 key, PKCS#8 in PEM. */
export function generateKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
}

/** Builds a signed request (RFC 8555, 6.2). An undefined payload means POST-as-GET. */
export function signRequest(
  { key, kid }: Signer,
  { url, nonce, payload }: { url: string; nonce: string; payload: object | undefined },
): string {
  const signerId = kid === undefined ? { jwk: key.jwk } : { kid }
  return buildJws({ alg: 'ES256', ...signerId, nonce, url }, payload, (text) => key.sign(text))
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

function buildJws(header: object, payload: object | undefined, signText: (text: string) => string): string {
  const protectedHeader = base64UrlJson(header)
  const body = payload === undefined ? '' : base64UrlJson(payload)
  const signature = signText(`${protectedHeader}.${body}`)
  return JSON.stringify({ protected: protectedHeader, payload: body, signature })
}

function base64UrlJson(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
