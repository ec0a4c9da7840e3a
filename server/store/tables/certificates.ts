import { type EntityOf, flag, integer, nullable, oneOf, Table, text } from '../table.ts'
import type { ChallengeType } from './acme.ts'

/**
 * A certificate and its schedule. An issued chain stays until the next one replaces it in one write. Keys are
 * PKCS#8 in PEM, encrypted with the service's secret.
 */
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
  /** Consecutive failures since the last certificate. */
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
  /**
   * The preferred challenge type: that of the last success, or another one after a failed validation; null at
   * first.
   */
  challengeType: nullable(oneOf<ChallengeType>()),
})

export type Certificate = EntityOf<typeof certificateTable>

/** Validity and schedule of a certificate. Times are milliseconds since 1970. */
export const certificateSummary = certificateTable.omit('chain', 'key', 'orderKey', 'challengeType')

export type CertificateSummary = EntityOf<typeof certificateSummary>

export type CertificateSchedule = Pick<
  CertificateSummary,
  'renewAt' | 'informationAt' | 'dueAt' | 'hasRenewalInfo'
>

/**
 * Certificates by name. A second one of a name rejects. A change of an absent certificate changes nothing. A
 * certificate is requested while `unusedSince` is null.
 */
/** A name without a certificate and without an order. */
export function emptyCertificate(name: string): Certificate {
  return { ...certificateTable.nulls, name, hasRenewalInfo: false, failures: 0 }
}

/** Some of the names of a page, in their order. */
export interface NamesPage {
  names: string[]
  /** The last name of the page; undefined when no further page follows. */
  next: string | undefined
}

/** Numbers of requested certificates. */
export interface CertificateCounts {
  /** Not expired, without a failed renewal. */
  valid: number
  /** Not expired, with a failed renewal. */
  failing: number
  /** Never issued. */
  pending: number
  expired: number
  /** Expiry of the first that expires; null when none was issued. */
  notAfter: number | null
}

export interface CertificateQueries {
  find(name: string): Promise<Certificate | undefined>

  /** That of an active domain. */
  findOfDomain(domain: string): Promise<Certificate | undefined>

  /** That of a name below the site domain, while the site of this slug exists. */
  findOfSite(name: string, slug: string): Promise<Certificate | undefined>

  findSummary(name: string): Promise<CertificateSummary | undefined>

  /** Those of the names that exist, in no order. */
  summaries(names: readonly string[]): Promise<CertificateSummary[]>

  /**
   * A page of the requested certificates by their expiry, then by name; those without a chain first. With a prefix, the
   * first ones whose names begin with it, by name.
   */
  page(options: {
    limit: number
    after?: { notAfter: number; name: string } | undefined
    prefix?: string | undefined
  }): Promise<CertificateSummary[]>

  /** All requested certificates by their expiry, then by name; those without a chain first. */
  requested(): Promise<CertificateSummary[]>

  /**
   * Certificates that are due at `now`: those without a chain first, then by expiry, then the longest due.
   * With `withOrders: false` only those with a request for renewal information as their next step.
   */
  due(now: number, limit: number, options: { withOrders: boolean }): Promise<CertificateSummary[]>

  countByState(now: number): Promise<CertificateCounts>

  /** Names of all certificates after this one, in order. */
  names(after: string, limit: number): Promise<string[]>

  insert(certificate: Certificate): Promise<void>

  /** Properties that are absent stay. */
  update(name: string, change: Partial<Omit<Certificate, 'name'>>): Promise<void>

  /**
   * Changes the schedule of the certificate with this ARI identifier. Changes nothing when the certificate was
   * replaced, has a pending order, or is no longer requested.
   */
  reschedule(name: string, certificateId: string | null, schedule: CertificateSchedule): Promise<void>

  /** The active domains without a requested certificate among the next `limit` active domains after that one. */
  missing(after: string, limit: number): Promise<NamesPage>

  /**
   * Hosts below the domain of live sites that have an owner and no certificate, those created last first. With
   * `changedSince`, only of sites that changed since then: without it, all sites are read when none is missing.
   */
  missingSites(siteDomain: string, limit: number, changedSince?: number): Promise<string[]>

  /**
   * Among the next `limit` names with a requested certificate after that one, those that are neither active domains, nor
   * among `others`, nor hosts of sites below `siteDomain` that are not deleted.
   */
  unneeded(
    after: string,
    limit: number,
    options: { others: readonly string[]; siteDomain?: string | undefined },
  ): Promise<NamesPage>

  /** Deletes certificates that have not been requested since before that time; returns their number. */
  deleteUnused(before: number): Promise<number>
}
