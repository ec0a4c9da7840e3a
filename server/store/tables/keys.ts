import type { KeyScope } from '../../../protocol/api/keys.ts'
import { type EntityOf, integer, json, nullable, oneOf, Table, text } from '../table.ts'

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
