import { createPrivateKey, X509Certificate } from 'node:crypto'
import { oneLine } from './problem.ts'

export interface ChainExpectation {
  names: readonly string[]
  /** PKCS#8 in PEM. */
  key: string
  /** Milliseconds since 1970. */
  now: number
}

/**
 * A chain that can be served with the validity of its leaf in milliseconds since 1970, or a description of
 * the problem.
 */
export type CheckedChain =
  | { problem?: undefined; chain: string; notBefore: number; notAfter: number }
  | { problem: string }

const MAX_CHAIN_LENGTH = 10

/** Maximum clock difference between the CA and this machine, in milliseconds. */
const MAX_CLOCK_SKEW_MS = 86_400_000

const PEM_BLOCK = /-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g

/**
 * Verifies an issued chain: PEM certificates only, a leaf for exactly these names and this key, valid now,
 * and each certificate signed by the next.
 */
export function checkChain(pem: string, expected: ChainExpectation): CheckedChain {
  const certificates = readChain(pem)
  if (typeof certificates === 'string') return { problem: certificates }
  const leaf = certificates[0]!
  const problem =
    leafProblem(leaf, expected) ??
    certificates.map((one) => lifeProblem(one, expected.now)).find((found) => found !== undefined) ??
    linkProblem(certificates)
  if (problem !== undefined) return { problem }
  return {
    chain: certificates.map(String).join(''),
    notBefore: leaf.validFromDate.getTime(),
    notAfter: leaf.validToDate.getTime(),
  }
}

function readChain(pem: string): X509Certificate[] | string {
  const blocks = pem.match(PEM_BLOCK) ?? []
  if (blocks.length === 0) return 'what the CA sent holds no certificate'
  if (blocks.length > MAX_CHAIN_LENGTH) return `the chain has more than ${MAX_CHAIN_LENGTH} certificates`
  if (pem.replace(PEM_BLOCK, '').trim() !== '') return 'the chain holds something else than certificates'
  try {
    return blocks.map((block) => new X509Certificate(block))
  } catch {
    return 'a certificate of the chain cannot be read'
  }
}

function leafProblem(leaf: X509Certificate, { names, key }: ChainExpectation): string | undefined {
  if (!leaf.checkPrivateKey(createPrivateKey(key))) return 'the certificate is for another key'
  const found = (leaf.subjectAltName ?? '').toLowerCase().split(', ')
  const wanted = names.map((name) => `dns:${name}`)
  if (found.toSorted().join() !== wanted.toSorted().join()) {
    const named = oneLine(found.join(', ').replaceAll('dns:', '')) || 'no name'
    return `the certificate is for ${named}, not for ${names.join(', ')}`
  }
  return undefined
}

function lifeProblem({ validFromDate, validToDate }: X509Certificate, now: number): string | undefined {
  const clock = "; or this server's clock is wrong"
  if (!(validFromDate < validToDate)) return 'a certificate of the chain ends before it begins'
  if (validToDate.getTime() <= now) return `a certificate of the chain ended ${day(validToDate)}${clock}`
  if (validFromDate.getTime() > now + MAX_CLOCK_SKEW_MS)
    return `a certificate of the chain begins ${day(validFromDate)}${clock}`
  return undefined
}

function day(date: Date): string {
  return `on ${date.toISOString().slice(0, 10)}`
}

function linkProblem(certificates: readonly X509Certificate[]): string | undefined {
  const broken = certificates.slice(1).find((issuer, index) => {
    const issued = certificates[index]!
    return !issued.checkIssued(issuer) || !issued.verify(issuer.publicKey)
  })
  return broken && 'a certificate of the chain is not signed by the next one'
}
