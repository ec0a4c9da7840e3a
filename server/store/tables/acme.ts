import type { ChallengeType } from '../../../packages/acme-client/acme.ts'
import { type Column, type EntityOf, integer, nullable, oneOf, Table, text } from '../table.ts'

/** The account at a CA (RFC 8555, 7.3): its key is stored before registration, so that there is never a second one. */
export const acmeAccountTable = new Table({
  /** URL of the CA's directory. */
  directory: text,
  /** PKCS#8 in PEM, encrypted. */
  key: text,
  /** Null until the account is registered. */
  url: nullable(text),
  createdAt: integer,
})

export type AcmeAccount = EntityOf<typeof acmeAccountTable>

/** A challenge that any node can respond to (RFC 8555, 8.3; RFC 8737). */
export const acmeChallengeTable = new Table({
  type: oneOf<Exclude<ChallengeType, 'dns-01'>>(),
  name: text,
  token: text,
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
 * A request that counts against the limits of the CA: an order, an ARI renewal, which does not count there
 * (`renewal`), a certificate for the same names, a failed validation; or the end of a requested pause
 * (`pause`).
 */
export const acmeRequestTable = new Table({
  id: text,
  kind: oneOf<'order' | 'renewal' | 'certificate' | 'failure' | 'pause'>(),
  /** A set: their order does not matter. Empty for a pause. */
  names: nameSet,
  at: integer,
  /** Of an order: the owner of the name, and its registrable domain; null for the service's own names. */
  accountId: nullable(text),
  root: nullable(text),
})

export type CountedRequest = EntityOf<typeof acmeRequestTable>
