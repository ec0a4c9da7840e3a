import 'reflect-metadata'
import { KeyObject, randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Pkcs10CertificateRequest,
  type PublicKey,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509'

/** Validity that covers every test clock. */
export const FOREVER = { notBefore: Date.UTC(2000), notAfter: Date.UTC(2100) }

const ES256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const SUBJECT_ALTERNATIVE_NAME = '2.5.29.17'
const SERVER_AUTHENTICATION = '1.3.6.1.5.5.7.3.1'

export interface LeafOptions {
  names: readonly string[]
  /** Milliseconds since 1970. */
  notBefore: number
  notAfter: number
}

/** A root and an intermediate that sign real P-256 certificates. */
export class Issuer {
  /** PEM of the root. */
  readonly root: string
  readonly #intermediate: string
  readonly #keys: CryptoKeyPair

  private constructor(root: string, intermediate: string, keys: CryptoKeyPair) {
    this.root = root
    this.#intermediate = intermediate
    this.#keys = keys
  }

  static async create(): Promise<Issuer> {
    const life = { notBefore: new Date(FOREVER.notBefore), notAfter: new Date(FOREVER.notAfter) }
    const rootKeys = await generateKeys()
    const keys = await generateKeys()
    const root = await X509CertificateGenerator.create({
      ...life,
      subject: 'CN=Test Root',
      issuer: 'CN=Test Root',
      publicKey: rootKeys.publicKey,
      signingKey: rootKeys.privateKey,
      signingAlgorithm: ES256,
      extensions: await authorityExtensions(rootKeys.publicKey, rootKeys.publicKey),
    })
    const intermediate = await X509CertificateGenerator.create({
      ...life,
      subject: 'CN=Test Intermediate',
      issuer: 'CN=Test Root',
      publicKey: keys.publicKey,
      signingKey: rootKeys.privateKey,
      signingAlgorithm: ES256,
      extensions: await authorityExtensions(keys.publicKey, rootKeys.publicKey),
    })
    return new Issuer(toPem(root), toPem(intermediate), keys)
  }

  /** Issues a chain for the key of a DER request, with the given names instead of its own: PEM, leaf first. */
  async issue(csr: Uint8Array<ArrayBuffer>, leaf: LeafOptions): Promise<string> {
    const request = new Pkcs10CertificateRequest(csr)
    if (!(await request.verify())) throw new Error('the request is not signed by its key')
    return this.#sign(request.publicKey, leaf)
  }

  /** Issues a chain for a new key (PKCS#8 in PEM). */
  async issueWithKey(leaf: LeafOptions): Promise<{ chain: string; key: string }> {
    const { publicKey, privateKey } = await generateKeys()
    const key = KeyObject.from(privateKey).export({ type: 'pkcs8', format: 'pem' }) as string
    return { chain: await this.#sign(publicKey, leaf), key }
  }

  async #sign(
    publicKey: PublicKey | CryptoKey,
    { names, notBefore, notAfter }: LeafOptions,
  ): Promise<string> {
    const certificate = await X509CertificateGenerator.create({
      serialNumber: randomBytes(16).toString('hex'),
      notBefore: new Date(notBefore),
      notAfter: new Date(notAfter),
      issuer: 'CN=Test Intermediate',
      publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: ES256,
      extensions: [
        new SubjectAlternativeNameExtension(names.map(generalName), true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([SERVER_AUTHENTICATION]),
        await AuthorityKeyIdentifierExtension.create(this.#keys.publicKey),
      ],
    })
    return toPem(certificate) + this.#intermediate
  }
}

function generateKeys(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(ES256, true, ['sign', 'verify']) as Promise<CryptoKeyPair>
}

/** The names in a DER certificate request. */
export function requestedNames(csr: Uint8Array<ArrayBuffer>): string[] {
  const names = new Pkcs10CertificateRequest(csr).getExtension(SUBJECT_ALTERNATIVE_NAME)
  return names instanceof SubjectAlternativeNameExtension ? names.names.items.map(({ value }) => value) : []
}

function generalName(value: string): { type: 'dns' | 'ip'; value: string } {
  return { type: isIP(value) === 0 ? 'dns' : 'ip', value }
}

async function authorityExtensions(key: CryptoKey, signer: CryptoKey): Promise<Extension[]> {
  return [
    new BasicConstraintsExtension(true, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    await SubjectKeyIdentifierExtension.create(key),
    await AuthorityKeyIdentifierExtension.create(signer),
  ]
}

function toPem(certificate: { toString(format: 'pem'): string }): string {
  return `${certificate.toString('pem')}\n`
}
