import type { Exceptions, Plan } from '../../../protocol/api/account.schema.ts'
import type { NoticeKind } from '../../../protocol/api/account.ts'
import { type EntityOf, flag, integer, json, nullable, oneOf, Table, text } from '../table.ts'
import type { Suspension } from './suspension.ts'

export const accountTable = new Table({
  id: text,
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
