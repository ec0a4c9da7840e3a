import type { AccountScope, KeyScope } from '../../../protocol/api/keys.ts'
import type { Forge } from '../../../protocol/api/trusts.ts'
import { type EntityOf, flag, integer, json, key, nullable, oneOf, Table, text } from '../table.ts'

export const namedKeyTable = new Table({
  keyHash: key(text),
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

/** A repository whose jobs get keys of one site of an account. */
export const trustTable = new Table({
  /** Made by `newId`. */
  id: key(text),
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

export const usedTokenTable = new Table({ tokenHash: key(text), expiresAt: integer })

export interface TrustedRepository {
  issuer: string
  repository: string
  repositoryId: string
}

/** A record of OAuth: the library of the protocol defines the kinds and their payloads. */
export const oauthRecordTable = new Table({
  /** Of the kind and the id. Ids of codes and tokens are secrets and stored nowhere. */
  idHash: key(text),
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
