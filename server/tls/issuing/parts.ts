import type { Log } from '../../log.ts'
import type { Store } from '../../store/store.ts'
import type { Acme } from '../acme/acme.ts'
import { certificateId } from '../acme/certificate-id.ts'
import { certificateRequest, newKey } from '../acme/certificate-request.ts'
import { type ChainExpectation, type CheckedChain, checkChain } from '../acme/chain.ts'
import type { DnsHook } from '../dns-hook.ts'
import type { Seal } from '../seal.ts'

/** What it takes to get certificates. */
export interface IssuingParts {
  store: Store
  acme: Acme
  /** Keys are sealed with it: a certificate's about `certificate <name>`, an order's about `order <name>`. */
  seal: Seal
  /** Milliseconds since 1970. */
  clock: () => number
  log: Log
  /** For names that can only be proven in DNS. */
  hook?: DnsHook | undefined
  /** The service's own names: the host of its pages, and `*.{site_domain}`, which brings `{site_domain}` along. */
  own: readonly string[]
  /** What certificates are; X.509 (RFC 5280) without it. */
  form?: CertificateForm
}

/** What is made and read of keys, requests and chains in PEM. */
export interface CertificateForm {
  newKey(): string
  request(names: readonly string[], key: string): Promise<{ csr: Uint8Array }>
  check(chain: string, expected: ChainExpectation): CheckedChain
  id(chain: string): Promise<string | undefined>
}

export const X509: CertificateForm = {
  newKey,
  request: certificateRequest,
  check: checkChain,
  id: certificateId,
}

/** What all leases of names begin with. */
export const LEASES = 'certificate '

/** Longer than a name takes; what a process that died had in hand is taken up after it (milliseconds). */
export const LEASE = 10 * 60_000

export function leaseOf(name: string): string {
  return `${LEASES}${name}`
}
