import { createHash, createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import { generateKey } from './jws.ts'
import { oneLine } from './response.ts'

const DAY_MS = 86_400_000

const ES256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

/** Maximum clock difference between the CA and this machine. */
const MAX_CLOCK_SKEW_MS = DAY_MS

const MAX_CHAIN_LENGTH = 10

const PEM_BLOCK = /-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g

/** id-pe-acmeIdentifier (RFC 8737, 6.1). */
const ACME_IDENTIFIER = '1.3.6.1.5.5.7.1.31'

/** DER prefix of an OCTET STRING of 32 bytes. */
const OCTETS_32 = Uint8Array.of(0x04, 0x20)

export interface ChainExpectation {
  names: readonly string[]
  /** PKCS#8 in PEM. */
  key: string
  now: number
}

/** The validity is that of the leaf, in milliseconds since 1970. */
export type CheckedChain =
  | { problem?: undefined; chain: string; notBefore: number; notAfter: number }
  | { problem: string }

/** RFC 2986, DER, for exactly these names. */
export async function createCsr(names: readonly string[], key: string): Promise<Uint8Array> {
  const { Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } = await x509()
  const dnsNames = names.map((value) => ({ type: 'dns' as const, value }))
  const request = await Pkcs10CertificateRequestGenerator.create({
    keys: toCryptoKeys(key),
    signingAlgorithm: ES256,
    extensions: [new SubjectAlternativeNameExtension(dnsNames)],
  })
  return new Uint8Array(request.rawData)
}

/** PEM certificates only, a leaf for exactly these names and this key, valid now, each signed by the next one. */
export function checkChain(pem: string, expected: ChainExpectation): CheckedChain {
  const certificates = readChain(pem)
  if (typeof certificates === 'string') return { problem: certificates }
  const leaf = certificates[0]!
  const problem =
    leafProblem(leaf, expected) ??
    certificates.map((one) => validityProblem(one, expected.now)).find((found) => found !== undefined) ??
    signatureProblem(certificates)
  if (problem !== undefined) return { problem }
  return {
    chain: certificates.map(String).join(''),
    notBefore: leaf.validFromDate.getTime(),
    notAfter: leaf.validToDate.getTime(),
  }
}

/** The ARI identifier of the leaf (RFC 9773, 4.1); undefined when it has no authority key identifier. */
export async function certificateId(chain: string): Promise<string | undefined> {
  const { AuthorityKeyIdentifierExtension, X509Certificate: Certificate } = await x509()
  const leaf = new Certificate(chain.match(PEM_BLOCK)![0])
  const issuer = leaf.getExtension(AuthorityKeyIdentifierExtension)?.keyId
  if (!issuer) return undefined
  return `${Buffer.from(issuer, 'hex').toString('base64url')}.${derInteger(leaf.serialNumber).toString('base64url')}`
}

/** RFC 8737, 3: self-signed for the name, with the hash of the key authorization, and its key, both as PEM. */
export async function challengeCertificate(
  name: string,
  keyAuthorization: string,
): Promise<{ certificate: string; key: string }> {
  const { Extension, SubjectAlternativeNameExtension, X509CertificateGenerator } = await x509()
  const key = generateKey()
  const hash = createHash('sha256').update(keyAuthorization).digest()
  const now = Date.now()
  const certificate = await X509CertificateGenerator.createSelfSigned({
    keys: toCryptoKeys(key),
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

/** Loads the library on first use: it costs 24 MB. */
async function x509(): Promise<typeof import('@peculiar/x509')> {
  await import('reflect-metadata')
  return import('@peculiar/x509')
}

function toCryptoKeys(key: string): CryptoKeyPair {
  const privateKey = createPrivateKey(key)
  return {
    privateKey: privateKey.toCryptoKey(ES256, false, ['sign']) as CryptoKey,
    publicKey: createPublicKey(privateKey).toCryptoKey(ES256, true, ['verify']) as CryptoKey,
  }
}

/** A positive integer with its first bit set starts with a zero byte (X.690, 8.3), which the library omits. */
function derInteger(hex: string): Buffer {
  const bytes = Buffer.from(hex, 'hex')
  return bytes[0]! >= 0x80 ? Buffer.concat([Uint8Array.of(0), bytes]) : bytes
}

function readChain(pem: string): X509Certificate[] | string {
  const blocks = pem.match(PEM_BLOCK) ?? []
  if (blocks.length === 0) return 'the CA sent no certificate'
  if (blocks.length > MAX_CHAIN_LENGTH) return `the chain has more than ${MAX_CHAIN_LENGTH} certificates`
  if (pem.replace(PEM_BLOCK, '').trim() !== '') return 'the chain contains data other than certificates'
  try {
    return blocks.map((block) => new X509Certificate(block))
  } catch {
    return 'a certificate of the chain is invalid'
  }
}

function leafProblem(leaf: X509Certificate, { names, key }: ChainExpectation): string | undefined {
  if (!leaf.checkPrivateKey(createPrivateKey(key))) return 'the certificate is for a different key'
  const found = (leaf.subjectAltName ?? '').toLowerCase().split(', ')
  const expected = names.map((name) => `dns:${name}`)
  if (found.toSorted().join() === expected.toSorted().join()) return undefined
  const named = oneLine(found.join(', ').replaceAll('dns:', '')) || 'no name'
  return `the certificate is for ${named}, not for ${names.join(', ')}`
}

function validityProblem({ validFromDate, validToDate }: X509Certificate, now: number): string | undefined {
  const clock = ", or this server's clock is wrong"
  if (!(validFromDate < validToDate)) return 'a certificate of the chain ends before it begins'
  if (validToDate.getTime() <= now)
    return `a certificate of the chain expired on ${formatDay(validToDate)}${clock}`
  if (validFromDate.getTime() > now + MAX_CLOCK_SKEW_MS)
    return `a certificate of the chain is not valid before ${formatDay(validFromDate)}${clock}`
  return undefined
}

function formatDay(date: Date): string {
  return date.toISOString().slice(0, 10)
}

function signatureProblem(certificates: readonly X509Certificate[]): string | undefined {
  const invalid = certificates.slice(1).find((issuer, index) => {
    const issued = certificates[index]!
    return !issued.checkIssued(issuer) || !issued.verify(issuer.publicKey)
  })
  return invalid && 'a certificate of the chain is not signed by the next one'
}
