import type { MeChange } from '../../protocol/api/account.schema.ts'
import { NOTICE_KINDS, type NoticeKind } from '../../protocol/api/account.ts'
import type { Account } from '../store/tables/accounts.ts'
import type { NoticeEvent } from '../store/tables/notices.ts'

/** What `reminders`, which earlier clients send, stands for. */
const REMINDERS: readonly NoticeKind[] = ['site-expires', 'site-deleted']

/** One switch stands for all events that an operator causes. */
const MODERATION: readonly NoticeEvent['kind'][] = [
  'account-suspended',
  'account-resumed',
  'site-suspended',
  'site-resumed',
  'site-removed',
  'domain-released',
]

const KINDS = Object.keys(NOTICE_KINDS) as NoticeKind[]

type Switches = Pick<Account, 'reminders' | 'noticesOff'>

/** Undefined for events whose emails are always sent. */
export function findSwitch(event: NoticeEvent['kind']): NoticeKind | undefined {
  if (MODERATION.includes(event)) return 'moderation'
  if (event === 'review-shared') return 'review'
  return isNoticeKind(event) ? event : undefined
}

export function isNoticeKind(kind: string): kind is NoticeKind {
  return Object.hasOwn(NOTICE_KINDS, kind)
}

export function wantsNotice(account: Switches, event: NoticeEvent['kind']): boolean {
  const kind = findSwitch(event)
  return kind === undefined || isOn(account, kind)
}

export function readSwitches(account: Switches): {
  reminders: boolean
  notices: Record<NoticeKind, boolean>
} {
  const switches = KINDS.map((kind) => [kind, isOn(account, kind)])
  const notices = Object.fromEntries(switches) as Record<NoticeKind, boolean>
  return { reminders: REMINDERS.some((kind) => notices[kind]), notices }
}

/** A single kind takes precedence over `reminders`. */
export function changeSwitches(account: Switches, { reminders, notices = {} }: MeChange): Switches {
  const before = readSwitches(account).notices
  const isWanted = (kind: NoticeKind) =>
    notices[kind] ?? (REMINDERS.includes(kind) ? reminders : undefined) ?? before[kind]
  const off = KINDS.filter((kind) => !isWanted(kind))
  return {
    reminders: !REMINDERS.every((kind) => off.includes(kind)),
    noticesOff: off.length === 0 ? null : off,
  }
}

function isOn({ reminders, noticesOff }: Switches, kind: NoticeKind): boolean {
  return !noticesOff?.includes(kind) && (reminders || !REMINDERS.includes(kind))
}
