import { DAY_MS, HOUR_MS } from '../../lib/time.ts'
import { type EntityOf, integer, json, key, nullable, Table, text } from '../table.ts'
import type { Domain } from './domains.ts'

export type NoticeEvent =
  | { kind: 'site-expires'; slug: string; title: string | null; expiresAt: number }
  | { kind: 'site-deleted'; slug: string; title: string | null; at: number; keptUntil: number | null }
  /** Of the account that shares a site: the email goes to `to`. */
  | { kind: 'site-shared'; slug: string; ownerEmail: string; to: string }
  /** `servedUntil` is null when another account has the domain now. */
  | { kind: 'domain-fails'; domain: string; slug: string; problem: string; servedUntil: number | null }
  | { kind: 'domain-works'; domain: string; slug: string; failingSince: number }
  | { kind: 'certificate-fails'; domain: string; problem: string; notAfter: number | null }
  /** What an operator did; `reason` is null when it was undone. */
  | {
      kind: 'site-suspended' | 'site-resumed' | 'site-removed'
      slug: string
      title: string | null
      reason: string | null
    }
  | { kind: 'account-suspended' | 'account-resumed'; reason: string | null }
  /** The email goes to `to`, also after the end of the account; `reason` is that of an operator. */
  | { kind: 'account-deleted'; to: string; at: number; reason: string | null }
  | { kind: 'domain-released'; domain: string; slug: string; reason: string }
  | {
      kind: 'limit-reached'
      part: 'bytes' | 'sites'
      percent: 80 | 100
      used: number
      limit: number
      /** Whether a publish was refused because it needed more. */
      refused?: true
    }
  | {
      /** `review-shared` for a collaborator, who may not have chosen to be one. */
      kind: 'review' | 'review-shared'
      slug: string
      /** Null for the live version. */
      preview: string | null
      author: string
      what: 'comment' | 'approved' | 'changes-requested'
    }
  | { kind: 'new-browser'; browser: string | null; network: string; at: number }

/** Of one kind to one account. Further events get no email, except for actions of an operator, whose emails wait. */
const DEFAULT_LIMIT = { windowMs: HOUR_MS, max: 5 }

/** Those about shared sites are limited by the mailbox that gets them, because one person can have many accounts. */
const LIMITS: { readonly [Kind in NoticeEvent['kind']]?: typeof DEFAULT_LIMIT } = {
  'site-shared': { windowMs: DAY_MS, max: 5 },
  'new-browser': { windowMs: DAY_MS, max: 1 },
  review: { windowMs: HOUR_MS, max: 6 },
  'review-shared': { windowMs: DAY_MS, max: 12 },
}

export function emailLimit(kind: NoticeEvent['kind']): typeof DEFAULT_LIMIT {
  return LIMITS[kind] ?? DEFAULT_LIMIT
}

/** A notice that is due, or whose row prevents a second email about its event: `attempts` is 0 if none was sent. */
export const noticeTable = new Table({
  /** Identifies the event; begins with its kind and a space. */
  id: key(text),
  accountId: text,
  event: json<NoticeEvent>(),
  createdAt: integer,
  attempts: integer,
  /** Time of the next attempt; null when there is none. */
  dueAt: nullable(integer),
})

export type Notice = EntityOf<typeof noticeTable>

/** An active domain without a valid certificate, or whose renewal fails. */
export interface FailingCertificate {
  domain: string
  accountId: string
  /** When the account proved the domain. */
  verifiedAt: number | null
  problem: string
  notAfter: number | null
}

export function expiryNoticeId(slug: string, expiresAt: number): string {
  return `site-expires ${slug} ${expiresAt}`
}

export function domainNoticeId(row: Pick<Domain, 'accountId' | 'domain' | 'failingSince'>): string {
  const { accountId, domain, failingSince } = row
  return `domain-fails ${accountId} ${domain} ${failingSince}`
}

export function certificateNoticeId({ accountId, domain, verifiedAt, notAfter }: FailingCertificate): string {
  return `certificate-fails ${accountId} ${domain} ${verifiedAt ?? 0} ${notAfter ?? 0}`
}
