import type { ChallengeType } from '../../../packages/acme-client/acme.ts'
import { type EntityOf, flag, integer, nullable, oneOf, Table, text } from '../table.ts'

/** An issued chain stays until the next one replaces it in one write. Keys are PKCS#8 in PEM, encrypted. */
export const certificateTable = new Table({
  /** A custom domain, the service's own host, or `*.{site_domain}`. */
  name: text,
  /** Null before the first certificate was issued, as the next three. */
  notBefore: nullable(integer),
  notAfter: nullable(integer),
  issuedAt: nullable(integer),
  /** The ARI identifier (RFC 9773, 4.1). */
  certificateId: nullable(text),
  /** Whether the CA has sent renewal information: an order may then name the certificate it replaces. */
  hasRenewalInfo: flag,
  /** Time of the renewal, as the CA suggests or by the default rule. */
  renewAt: nullable(integer),
  /** Time of the next request for renewal information (RFC 9773). */
  informationAt: nullable(integer),
  /** The pending order, stored before the certificate is requested; null without an order. */
  orderUrl: nullable(text),
  failures: integer,
  /** The last error as a message; null after a success. */
  problem: nullable(text),
  /** Time of the next step; null when nothing is scheduled. */
  dueAt: nullable(integer),
  /** Since when the certificate is no longer requested; null while it is. */
  unusedSince: nullable(integer),
  /** PEM, leaf first; null before the first one was issued. */
  chain: nullable(text),
  key: nullable(text),
  /** The key of the pending order; null without an order. */
  orderKey: nullable(text),
  /** That of the last success, or another one after a failed validation; null at first. */
  challengeType: nullable(oneOf<ChallengeType>()),
})

export type Certificate = EntityOf<typeof certificateTable>

export const certificateSummary = certificateTable.omit('chain', 'key', 'orderKey', 'challengeType')

export type CertificateSummary = EntityOf<typeof certificateSummary>

export function emptyCertificate(name: string): Certificate {
  return { ...certificateTable.nulls, name, hasRenewalInfo: false, failures: 0 }
}
