import type { ChallengeType } from '../../../packages/acme-client/acme.ts'
import { type Column, type EntityOf, flag, integer, key, nullable, oneOf, Table, text } from '../table.ts'

/** An issued chain stays until the next one replaces it in one write. Keys are PKCS#8 in PEM, encrypted. */
export const certificateTable = new Table({
  /** A custom domain, the service's own host, or `*.{site_domain}`. */
  name: key(text),
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

/** The account at a CA (RFC 8555, 7.3): its key is stored before registration, so that there is never a second one. */
export const acmeAccountTable = new Table({
  directory: key(text),
  /** PKCS#8 in PEM, encrypted. */
  key: text,
  /** Null until the account is registered. */
  url: nullable(text),
  createdAt: integer,
})

export type AcmeAccount = EntityOf<typeof acmeAccountTable>

/** A challenge that any node can respond to (RFC 8555, 8.3; RFC 8737). */
export const acmeChallengeTable = new Table({
  type: key(oneOf<Exclude<ChallengeType, 'dns-01'>>()),
  name: key(text),
  token: key(text),
  /** RFC 8555, 8.1. */
  keyAuthorization: text,
  expiresAt: integer,
})

export type StoredChallenge = EntityOf<typeof acmeChallengeTable>

/** Names in one text, in an order that does not depend on theirs. */
export function toNameSet(names: readonly string[]): string {
  return names.toSorted().join()
}

const nameSet: Column<readonly string[], string> = {
  decode: (stored) => (stored === '' ? [] : stored.split(',')),
  encode: toNameSet,
}

/**
 * A request that counts against the limits of the CA: an order, an ARI renewal, which does not count there (`renewal`), a
 * certificate for the same names, a failed validation; or the end of a requested pause (`pause`).
 */
export const acmeRequestTable = new Table({
  id: key(text),
  /** Of the CA. */
  directory: text,
  kind: oneOf<'order' | 'renewal' | 'certificate' | 'failure' | 'pause'>(),
  /** A set: their order does not matter. Empty for a pause of all. */
  names: nameSet,
  at: integer,
  /** Of an order or certificate: the owner of the name, and its registrable domain; null for the service's own names. */
  accountId: nullable(text),
  root: nullable(text),
})

export type CountedRequest = EntityOf<typeof acmeRequestTable>

/** The key of TLS session tickets of one period, by its number since 1970; sealed. */
export const ticketKeyTable = new Table({ period: key(integer), key: text })
