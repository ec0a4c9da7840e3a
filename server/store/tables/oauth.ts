import { type EntityOf, integer, json, nullable, Table, text } from '../table.ts'

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
