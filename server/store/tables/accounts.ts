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
  /** Limits that differ from those of the plan; null without. */
  limits: nullable(json<Exceptions>()),
  /** Applies to all of its sites, also to later ones. */
  suspension: nullable(json<Suspension>()),
  /** Since when it administers the service; null for other accounts. */
  administratorSince: nullable(integer),
})

export type Account = EntityOf<typeof accountTable>

/** Accounts. Ids, addresses and key hashes are unique. A change of an absent account changes nothing. */
export interface AccountQueries {
  byId(id: string): Promise<Account | undefined>

  /** Those that exist, in no order. */
  byIds(ids: readonly string[]): Promise<Account[]>

  /** Ids after this one, in order. */
  ids(after: string, limit: number): Promise<string[]>

  byEmail(email: string): Promise<Account | undefined>

  insert(account: Account): Promise<void>

  /** The previous key is no longer valid; named keys stay. */
  setKey(id: string, keyHash: string): Promise<void>

  setPlan(id: string, plan: Plan, limits: Account['limits']): Promise<void>

  setNotices(id: string, notices: Pick<Account, 'reminders' | 'noticesOff'>): Promise<void>

  /** Null when the address has received an email. */
  setEmailRefusal(id: string, refusal: { at: number; reply: string } | null): Promise<void>

  setSuspension(id: string, suspension: Suspension | null): Promise<void>

  /** Null when it no longer administers the service. */
  setAdministratorSince(id: string, since: number | null): Promise<void>

  /** Those that administer the service, the first one first. */
  administrators(): Promise<Account[]>

  /** Removes all keys of an account that is being deleted, and its mark as an administrator. Idempotent: keeps an earlier start time. */
  markBeingDeleted(id: string, now: number): Promise<void>

  /** Accounts that are being deleted, the longest waiting first. */
  beingDeleted(limit: number): Promise<Account[]>

  remove(id: string): Promise<void>
}
