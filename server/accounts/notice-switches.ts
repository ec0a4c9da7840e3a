import { type MeChange, NOTICE_KINDS, type NoticeKind } from '../../protocol/api/account.ts'
import type { Account } from '../store/contract/accounts.ts'

/** The kinds that `reminders` of an account and of earlier clients stands for. */
const REMINDERS: readonly NoticeKind[] = ['site-expires', 'site-deleted']

const KINDS = Object.keys(NOTICE_KINDS) as NoticeKind[]

type Switches = Pick<Account, 'reminders' | 'noticesOff'>

/** Whether the account gets emails of this kind; true for kinds that cannot be turned off. */
export function wantsNotice({ reminders, noticesOff }: Switches, kind: string): boolean {
  const isReminder = (REMINDERS as readonly string[]).includes(kind)
  return !(noticesOff as readonly string[] | null)?.includes(kind) && (reminders || !isReminder)
}

export function canTurnOff(kind: string): kind is NoticeKind {
  return Object.hasOwn(NOTICE_KINDS, kind)
}

export function readSwitches(account: Switches): {
  reminders: boolean
  notices: Record<NoticeKind, boolean>
} {
  const notices = Object.fromEntries(KINDS.map((kind) => [kind, wantsNotice(account, kind)]))
  return {
    reminders: REMINDERS.some((kind) => notices[kind]),
    notices: notices as Record<NoticeKind, boolean>,
  }
}

/** The switches after a change. A single kind takes precedence over `reminders`. */
export function changeSwitches(account: Switches, { reminders, notices = {} }: MeChange): Switches {
  const before = readSwitches(account).notices
  const isOff = (kind: NoticeKind) => {
    const asked = notices[kind] ?? (REMINDERS.includes(kind) ? reminders : undefined)
    return !(asked ?? before[kind])
  }
  const off = KINDS.filter(isOff)
  return {
    reminders: !REMINDERS.every((kind) => off.includes(kind)),
    noticesOff: off.length === 0 ? null : off,
  }
}
