import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'

/** A parsed JWS request (RFC 8555, 6.2), not yet verified. */
export interface SignedRequest {
  nonce: string
  url: string
  /** The account URL, or the key of a client without an account. */
  kid?: string
  jwk?: JsonWebKey
  /** Undefined for an empty payload: POST-as-GET. */
  payload: Record<string, unknown> | undefined
  signedBy(key: JsonWebKey): boolean
}

/** Throws when the body is malformed. */
export function readSignedRequest(body: string): SignedRequest {
  const { protected: header, payload, signature } = JSON.parse(body) as Record<string, string>
  const { alg, nonce, url, kid, jwk } = JSON.parse(decoded(header!)) as Record<string, string> & {
    jwk?: JsonWebKey
  }
  if (alg !== 'ES256' || !nonce || !url || (kid === undefined) === (jwk === undefined)) {
    throw new Error('the protected header is not one of RFC 8555, 6.2')
  }
  return {
    nonce,
    url,
    ...(kid === undefined ? {} : { kid }),
    ...(jwk === undefined ? {} : { jwk }),
    payload: payload === '' ? undefined : JSON.parse(decoded(payload!)),
    signedBy: (key) =>
      verify(
        'sha256',
        Buffer.from(`${header}.${payload}`),
        { key: publicKey(key), dsaEncoding: 'ieee-p1363' },
        Buffer.from(signature!, 'base64url'),
      ),
  }
}

/** RFC 7638, of a P-256 key. */
export function jwkThumbprint({ crv, kty, x, y }: JsonWebKey): string {
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url')
}

function publicKey(key: JsonWebKey): KeyObject {
  return createPublicKey({ key, format: 'jwk' })
}

function decoded(text: string): string {
  return Buffer.from(text, 'base64url').toString()
}
