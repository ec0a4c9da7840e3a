import type { AccountScope } from '../../../protocol/api/keys.ts'
import type { Forge } from '../../../protocol/api/trusts.ts'
import { type EntityOf, flag, integer, nullable, oneOf, Table, text } from '../table.ts'

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

export const usedTokenTable = new Table({ tokenHash: text, expiresAt: integer })

export interface TrustedRepository {
  issuer: string
  repository: string
  repositoryId: string
}
