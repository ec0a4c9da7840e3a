import type { AccountScope } from '../../../protocol/api/keys.ts'
import type { Forge } from '../../../protocol/api/trusts.ts'
import { type EntityOf, flag, integer, nullable, oneOf, Table, text } from '../table.ts'

/** A token of a job that was exchanged, until it expires. */
export const usedTokenTable = new Table({
  tokenHash: text,
  expiresAt: integer,
})

/** A repository whose jobs get keys of one site of an account. */
export const trustTable = new Table({
  /** Made by `newId`. */
  id: text,
  accountId: text,
  createdAt: integer,
  forge: oneOf<Forge>(),
  issuer: text,
  /** In lower case. */
  repository: text,
  /** Null until the first exchange. */
  repositoryId: nullable(text),
  /** The `visitsKey` of the site, which stays when the site is renamed. */
  site: text,
  scope: oneOf<AccountScope>(),
  lastUsedAt: nullable(integer),
  // `TrustRules`.
  workflow: nullable(text),
  branch: nullable(text),
  tag: nullable(text),
  environment: nullable(text),
  pullRequests: flag,
})

export type StoredTrust = EntityOf<typeof trustTable>

/** What a token says about its repository. */
export interface TrustedRepository {
  issuer: string
  repository: string
  repositoryId: string
}

/** Trusts of accounts, and the tokens that were exchanged. Deletions are idempotent. */
export interface TrustQueries {
  /** Those of the account, newest first. */
  list(accountId: string): Promise<StoredTrust[]>

  /** Those for a repository, by its name or its id, of all accounts, of one site or of all, oldest first. */
  find(repository: TrustedRepository, options: { site?: string; limit: number }): Promise<StoredTrust[]>

  add(trust: StoredTrust): Promise<void>

  /** Fixes the id of the repository, follows its name, and records the use. */
  recordUse(id: string, repository: Omit<TrustedRepository, 'issuer'>, now: number): Promise<void>

  delete(id: string): Promise<void>

  deleteOfAccount(accountId: string): Promise<void>

  /** Whether the use of a token is recorded. */
  isTokenUsed(tokenHash: string): Promise<boolean>

  /** Records the use of a token until it expires; false when it was used before. */
  useToken(tokenHash: string, expiresAt: number): Promise<boolean>

  /** Removes used tokens that have expired; at most `limit`. Returns their number. */
  deleteExpiredTokens(now: number, limit: number): Promise<number>
}
