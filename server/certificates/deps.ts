import type { Acme } from '../../packages/acme-client/acme.ts'
import { generateKey } from '../../packages/acme-client/jws.ts'
import { certificateId, checkChain, createCsr } from '../../packages/acme-client/x509.ts'
import type { Dns } from '../domains/dns/dns.ts'
import type { SecretBox } from '../lib/secret-box.ts'
import { MINUTE_MS } from '../lib/time.ts'
import type { Parts } from '../parts.ts'
import type { DnsHook } from './dns-hook.ts'

export interface IssuingDeps extends Pick<Parts, 'store' | 'clock' | 'log'> {
  acme: Acme
  directory: string
  /** For the CAA records of names that are not the service's own. */
  dns: Pick<Dns, 'caa'>
  /** Encrypts keys: a certificate's with the context `certificate <name>`, an order's with `order <name>`. */
  secretBox: SecretBox
  /** For names that can only be proven by DNS. */
  hook?: DnsHook | undefined
  /** The service's own names: the host of its pages, and `*.{site_domain}`, which includes `{site_domain}`. */
  own: readonly string[]
  /** For the hosts of single sites, at most `perWeek` first certificates in 7 days. */
  sites?: { domain: string; perWeek: number } | undefined
  /** Certificate format; default X.509 (RFC 5280). */
  codec?: CertificateCodec
}

export type CertificateCodec = typeof x509Codec

/** Keys, requests and chains are in PEM. */
export const x509Codec = {
  newKey: generateKey,
  request: createCsr,
  check: checkChain,
  id: certificateId,
}

/** Longer than processing a name takes. After a crash another process continues when it expires. */
export const LEASE_DURATION_MS = 10 * MINUTE_MS

export function leaseName(name: string): string {
  return `certificate ${name}`
}
