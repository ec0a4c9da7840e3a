import type { KeyScope } from '../../../protocol/api/keys.ts'
import { type EntityOf, integer, json, nullable, oneOf, Table, text } from '../table.ts'
import type { Account } from './accounts.ts'

/** A key beside the account's own one. */
export const namedKeyTable = new Table({
  keyHash: text,
  accountId: text,
  /** Unique within the account. */
  name: text,
  createdAt: integer,
  scope: oneOf<KeyScope>(),
  /** The sites it is limited to, each by its `visitsKey`, which stays when the site is renamed; null for all. */
  sites: nullable(json<readonly string[]>()),
  expiresAt: nullable(integer),
  lastUsedAt: nullable(integer),
  /** What the service issued it for, such as a program; null for a key that the account created by its name. */
  issuedBy: nullable(text),
})

export type NamedKey = EntityOf<typeof namedKeyTable>

/** A key with its account. */
export interface KeyHolder {
  account: Account
  /** Null for the account's own key. */
  key: NamedKey | null
}

/**
 * API keys. Hashes are unique, and so are the names of an account's keys. Expired keys stay until they are deleted.
 * Deletions are idempotent.
 */
export interface KeyQueries {
  /** The key with this hash, named or not. */
  find(keyHash: string): Promise<KeyHolder | undefined>

  /** Those of these hashes that belong to a key that is valid at `now`, named or not. */
  valid(hashes: readonly string[], now: number): Promise<string[]>

  /** The keys that the account created by name, newest first. */
  list(accountId: string): Promise<NamedKey[]>

  add(key: NamedKey): Promise<void>

  /** Ends a key, named or not. */
  delete(keyHash: string): Promise<void>

  /** The number of issued keys of the account. */
  countIssued(accountId: string): Promise<number>

  /** Ends the keys that were issued for this. */
  deleteIssued(accountId: string, issuedBy: string): Promise<void>

  /** Sets the last use of a key, unless it was used after `before`. */
  recordUse(keyHash: string, now: number, before: number): Promise<void>

  /** Removes issued keys that have expired, and others that had expired at `before`; at most `limit`. Returns their number. */
  deleteExpired(options: { now: number; before: number; limit: number }): Promise<number>
}
