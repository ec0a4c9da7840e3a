import type { Exceptions, Plan } from '../../../protocol/api/account.schema.ts'
import type { NoticeKind } from '../../../protocol/api/account.ts'
import { type EntityOf, flag, integer, json, key, nullable, oneOf, Table, text } from '../table.ts'

/** Why the operator has taken a site, or all sites of an account, offline. */
export interface Suspension {
  /** For the owner. */
  reason: string
  /** For visitors; null for none. */
  publicReason: string | null
  /** For operators; null for none. */
  note: string | null
  since: number
}

export const accountTable = new Table({
  id: key(text),
  email: text,
  plan: oneOf<Plan>(),
  keyHash: nullable(text),
  createdAt: integer,
  /** Whether reminders are sent by email: false turns off both kinds of notices about sites. */
  reminders: flag,
  /** Other kinds of notices that are turned off; null when none is. */
  noticesOff: nullable(json<readonly NoticeKind[]>()),
  /** When the mail server refused the address permanently, and its reply; null when it has not since the last sign-in. */
  emailRefusedAt: nullable(integer),
  emailRefusal: nullable(text),
  /** Start of the account's deletion: sign-in is disabled and its data is being deleted; otherwise null. */
  deletionStartedAt: nullable(integer),
  limits: nullable(json<Exceptions>()),
  /** Applies to all of its sites, also to later ones. */
  suspension: nullable(json<Suspension>()),
  administratorSince: nullable(integer),
})

export type Account = EntityOf<typeof accountTable>

export function emptyAccount(given: Pick<Account, 'id' | 'email' | 'plan' | 'createdAt'>): Account {
  return { ...accountTable.nulls, reminders: true, ...given }
}

/** An address that may create an account until it expires. Signing in proves the address, so that it needs no secret. */
export const invitationTable = new Table({
  email: key(text),
  /** The account that invited it; null for the command of the operator. */
  invitedBy: nullable(text),
  createdAt: integer,
  expiresAt: integer,
})

export type Invitation = EntityOf<typeof invitationTable>
