import { type EntityOf, integer, json, nullable, Table, text } from '../table.ts'
import type { Account } from './accounts.ts'

/** A record of OAuth: the library of the protocol defines the kinds and their payloads. */
export const oauthRecordTable = new Table({
  /** Of the kind and the id. Ids of codes and tokens are secrets and stored nowhere. */
  idHash: text,
  kind: text,
  /** The hash of the grant that it belongs to; that of a grant itself, too. */
  grantHash: nullable(text),
  accountId: nullable(text),
  payload: json<Readonly<Record<string, unknown>>>(),
  createdAt: integer,
  expiresAt: integer,
  /** The first use of what can be used once. */
  consumedAt: nullable(integer),
})

export type OAuthRecord = EntityOf<typeof oauthRecordTable>

/** Records of OAuth. Expired records are as absent. Deletions are idempotent. */
export interface OAuthQueries {
  find(idHash: string, now: number): Promise<OAuthRecord | undefined>

  /** Those that exist, in no order. */
  findAll(idHashes: readonly string[], now: number): Promise<OAuthRecord[]>

  /**
   * A record with the account that it belongs to, unless that is being deleted, or the grant has ended: a request for
   * a token that runs while the grant ends can save the token afterwards.
   */
  findWithAccount(idHash: string, now: number): Promise<{ record: OAuthRecord; account: Account } | undefined>

  /** Inserts a record, or replaces payload and expiry of the one with its id. */
  save(record: OAuthRecord): Promise<void>

  /**
   * Records the first use, after which the record expires at `until` at the latest; false when it was used before, or
   * is absent. Exact over all processes.
   */
  consume(idHash: string, now: number, until: number): Promise<boolean>

  delete(idHash: string): Promise<void>

  /** Deletes some of the records of a grant; returns their number. */
  deleteOfGrant(grantHash: string, limit: number): Promise<number>

  /** The records of an account, newest first. */
  list(accountId: string, kind: string, now: number): Promise<OAuthRecord[]>

  /** Deletes some of the records of an account; returns their number. */
  deleteOfAccount(accountId: string, limit: number): Promise<number>

  /** Deletes some of the records that have expired by `now`; returns their number. */
  deleteExpired(now: number, limit: number): Promise<number>
}
