import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { x509 } from './x509.ts'

export const ES256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

export interface CertificateRequest {
  /** PKCS#8 in PEM. */
  key: string
  /** DER (RFC 2986). */
  csr: Uint8Array
}

/**
 * Creates a request for a certificate of exactly these names, with a new P-256 key or the stored key of an
 * order.
 */
export async function certificateRequest(
  names: readonly string[],
  key: string = newKey(),
): Promise<CertificateRequest> {
  const { Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } = await x509()
  const dnsNames = names.map((value) => ({ type: 'dns' as const, value }))
  const request = await Pkcs10CertificateRequestGenerator.create({
    keys: cryptoKeys(key),
    signingAlgorithm: ES256,
    extensions: [new SubjectAlternativeNameExtension(dnsNames)],
  })
  return { key, csr: new Uint8Array(request.rawData) }
}

/** A new P-256 key, PKCS#8 in PEM. */
export function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
}

export function cryptoKeys(key: string): CryptoKeyPair {
  const privateKey = createPrivateKey(key)
  return {
    privateKey: privateKey.toCryptoKey(ES256, false, ['sign']) as CryptoKey,
    publicKey: createPublicKey(privateKey).toCryptoKey(ES256, true, ['verify']) as CryptoKey,
  }
}
