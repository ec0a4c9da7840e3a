import { createHash } from 'node:crypto'
import { cryptoKeys, ES256, newKey } from './certificate-request.ts'
import { x509 } from './x509.ts'

const ACME_IDENTIFIER = '1.3.6.1.5.5.7.1.31'

/** DER prefix of an OCTET STRING of 32 bytes. */
const OCTETS_32 = Uint8Array.of(0x04, 0x20)

const DAY_MS = 86_400_000

/**
 * The certificate for a TLS-ALPN-01 handshake (RFC 8737, 3): self-signed for the name, with the hash of the
 * key authorization, and its key, both as PEM.
 */
export async function challengeCertificate(
  name: string,
  keyAuthorization: string,
): Promise<{ certificate: string; key: string }> {
  const { Extension, SubjectAlternativeNameExtension, X509CertificateGenerator } = await x509()
  const key = newKey()
  const hash = createHash('sha256').update(keyAuthorization).digest()
  const now = Date.now()
  const certificate = await X509CertificateGenerator.createSelfSigned({
    keys: cryptoKeys(key),
    signingAlgorithm: ES256,
    name: 'CN=ACME challenge',
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + 7 * DAY_MS),
    extensions: [
      new SubjectAlternativeNameExtension([{ type: 'dns', value: name }]),
      new Extension(ACME_IDENTIFIER, true, Buffer.concat([OCTETS_32, hash])),
    ],
  })
  return { certificate: `${certificate.toString('pem')}\n`, key }
}
