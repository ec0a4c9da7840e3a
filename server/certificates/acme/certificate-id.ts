import { x509 } from './x509.ts'

/**
 * The ARI identifier of the leaf of a PEM chain (RFC 9773, 4.1); undefined when the certificate has no
 * authority key identifier.
 */
export async function certificateId(chain: string): Promise<string | undefined> {
  const { AuthorityKeyIdentifierExtension, X509Certificate } = await x509()
  const leaf = new X509Certificate(chain.slice(0, endOfFirst(chain)))
  const issuer = leaf.getExtension(AuthorityKeyIdentifierExtension)?.keyId
  if (!issuer) return undefined
  return `${base64url(Buffer.from(issuer, 'hex'))}.${base64url(derInteger(leaf.serialNumber))}`
}

function endOfFirst(chain: string): number {
  const end = '-----END CERTIFICATE-----'
  const at = chain.indexOf(end)
  return at === -1 ? chain.length : at + end.length
}

/** A positive number whose first bit is set starts with a zero byte (X.690, 8.3), which the library omits. */
function derInteger(hex: string): Buffer {
  const bytes = Buffer.from(hex, 'hex')
  return bytes[0]! >= 0x80 ? Buffer.concat([Uint8Array.of(0), bytes]) : bytes
}

function base64url(bytes: Buffer): string {
  return bytes.toString('base64url')
}
