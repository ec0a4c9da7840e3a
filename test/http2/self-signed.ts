import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import { X509CertificateGenerator } from '@peculiar/x509'

/** Creates a key and a self-signed certificate, in PEM. */
export async function selfSigned(name: string): Promise<{ key: string; cert: string }> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    notBefore: new Date('2020-01-01'),
    notAfter: new Date('2100-01-01'),
    signingAlgorithm: algorithm,
    keys: keys as CryptoKeyPair,
  })
  const secret = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64')
  const key = `-----BEGIN PRIVATE KEY-----\n${secret.replace(/.{64}/g, '$&\n')}\n-----END PRIVATE KEY-----\n`
  return { key, cert: certificate.toString('pem') }
}
