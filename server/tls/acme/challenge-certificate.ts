import { createHash } from 'node:crypto'
import { cryptoKeys, ES256, newKey } from './certificate-request.ts'
import { x509 } from './x509.ts'

const ACME_IDENTIFIER = '1.3.6.1.5.5.7.1.31'

/** The DER of an OCTET STRING of 32 bytes, without these. */
const OCTETS_32 = Uint8Array.of(0x04, 0x20)

const DAY = 86_400_000

/**
 * What a TLS handshake with `acme-tls/1` has to answer (RFC 8737, 3): a self-signed certificate of the name with the hash
 * of the key authorization, and its key, both in PEM.
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
    notBefore: new Date(now - DAY),
    notAfter: new Date(now + 7 * DAY),
    extensions: [
      new SubjectAlternativeNameExtension([{ type: 'dns', value: name }]),
      new Extension(ACME_IDENTIFIER, true, Buffer.concat([OCTETS_32, hash])),
    ],
  })
  return { certificate: `${certificate.toString('pem')}\n`, key }
}
