import { findRole } from '../../accounts/authorization.ts'
import { toMailbox } from '../../accounts/email-address.ts'
import { findSwitch, wantsNotice } from '../../accounts/notice-switches.ts'
import type { UnsubscribeLinks } from '../../accounts/unsubscribe.ts'
import { GRACE_PERIOD_MS, UNLESS } from '../../domains/schedule.ts'
import { Component } from '../../lib/component.ts'
import { ApiError } from '../../lib/errors.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../lib/time.ts'
import { MailDeferredError, MailRejectedError } from '../../mail/mail.ts'
import type { Parts } from '../../parts.ts'
import type { Queries } from '../../store/queries.ts'
import { deleteBefore, INDEPENDENT, type Store } from '../../store/store.ts'
import type { Account } from '../../store/tables/accounts.ts'
import {
  certificateNoticeId,
  domainNoticeId,
  emailLimit,
  expiryNoticeId,
  type Notice,
  type NoticeEvent,
} from '../../store/tables/notices.ts'
import { counterWindow } from '../../store/tables/usage.ts'
import { noticeEmail } from './emails.ts'

type NoticesParts = Pick<Parts, 'store' | 'mail' | 'addresses' | 'branding' | 'clock' | 'log'> & {
  unsubscribeLinks: Pick<UnsubscribeLinks, 'create'>
}

const REMINDER_LEAD_MS = 6 * HOUR_MS

/** The owner of a site that was changed more recently knows, and gets no reminder. */
const MIN_UNCHANGED_MS = 6 * HOUR_MS

/** DNS servers are often unavailable for minutes. */
const DOMAIN_FAILING_MS = HOUR_MS

const CERTIFICATE_FAILING_MS = DAY_MS

/** Emails about a suspension and its end are sent in their order, unless one has waited for a mail server or its limit. */
const MAX_AGE_OF_REVERSED_MS = 5 * MINUTE_MS

/** The last one after about a day; then daily for an event that lasts, which would be found again without its row. */
const MAX_ATTEMPTS = 10
const LASTING: ReadonlySet<NoticeEvent['kind']> = new Set([
  'site-expires',
  'domain-fails',
  'certificate-fails',
])
const MAX_RETRY_INTERVAL_MS = 4 * HOUR_MS
const RETRY_INTERVAL_MS = 15 * MINUTE_MS

/** Events of a kind that are found, and emails that are sent, per run. */
const NOTICES_PER_RUN = 100

/** After this number in a row, a run ends: the mail server probably accepts no email now. */
const MAX_DEFERRED = 10

/** A row prevents a second email about its event until then. */
const RETENTION_MS = 90 * DAY_MS

type Recipient = Pick<Account, 'id' | 'email'>

/** `done` also if the email was refused permanently, `deferred` if the mail server accepts it later, else `failed`. */
type SendOutcome = 'done' | 'deferred' | 'failed'

/**
 * At most one email for each event, in `RETENTION_MS`. An event of the API adds its notice in its own transaction; this class finds those
 * that come with time, and sends. A process that dies while it sends leaves an email unsent.
 */
export class Notices extends Component<NoticesParts> {
  /** For a job with its store; returns the number of emails. Safe to run twice, and on two nodes concurrently. */
  async run(store: Store): Promise<number> {
    const { clock } = this.parts
    await this.#addNotices(store)
    let sent = 0
    let deferred = 0
    for (const notice of await store.read.notices.due(clock(), NOTICES_PER_RUN)) {
      const recipient = await this.#claim(notice.id, store)
      if (!recipient || !(await this.#confirm(notice, store))) continue
      const outcome = await this.#send(notice, recipient)
      if (notice.event.kind === 'account-deleted')
        await store.write('relaxed', INDEPENDENT, async ({ notices }) => {
          if (outcome === 'done') await notices.update(notice.id, { attempts: 1, dueAt: null })
          await notices.deleteOfAccount(recipient.id)
        })
      deferred = outcome === 'deferred' ? deferred + 1 : 0
      if (outcome === 'done') sent++
      // A mail server that does not respond now probably does not accept the next email either.
      if (outcome === 'failed' || deferred === MAX_DEFERRED) break
    }
    const before = clock() - RETENTION_MS
    await deleteBefore(store, 'notices', before)
    return sent
  }

  async #addNotices(store: Store): Promise<void> {
    const now = this.parts.clock()
    const { notices } = store.read
    const until = now + REMINDER_LEAD_MS
    const sites = await notices.expiringSites(until, now - MIN_UNCHANGED_MS, NOTICES_PER_RUN)
    const domains = await notices.failingDomains(now - DOMAIN_FAILING_MS, NOTICES_PER_RUN)
    const certificates = await notices.failingCertificates(now - CERTIFICATE_FAILING_MS, NOTICES_PER_RUN)
    const found: { id: string; accountId: string; event: NoticeEvent }[] = [
      ...sites.map(({ slug, title, ownerId, expiresAt }) => {
        const event = { kind: 'site-expires', slug, title, expiresAt: expiresAt! } as const
        return { id: expiryNoticeId(slug, expiresAt!), accountId: ownerId!, event }
      }),
      ...domains.map((row) => {
        const { domain, slug, accountId, reason, failingSince } = row
        const problem = (reason ?? 'no record was found').split(UNLESS, 1)[0]!
        const servedUntil = failingSince! + GRACE_PERIOD_MS
        const event = { kind: 'domain-fails', domain, slug, problem, servedUntil } as const
        return { id: domainNoticeId(row), accountId, event }
      }),
      ...certificates.map((row) => {
        const { domain, accountId, problem, notAfter } = row
        const event = { kind: 'certificate-fails', domain, problem, notAfter } as const
        return { id: certificateNoticeId(row), accountId, event }
      }),
    ]
    if (found.length === 0) return
    await store.write('relaxed', INDEPENDENT, async (tx) => {
      for (const notice of found) await tx.notices.add({ ...notice, createdAt: now })
    })
  }

  /**
   * Takes a notice before it is sent. Undefined when another process has taken it, its account was deleted, it is no
   * longer true, or the account has had too many emails of its kind.
   */
  async #claim(id: string, store: Store): Promise<Recipient | undefined> {
    const { clock, log } = this.parts
    return store.write('durable', { notice: id }, async (tx) => {
      const now = clock()
      const notice = await tx.notices.find(id)
      if (!notice || notice.dueAt === null || notice.dueAt > now) return undefined
      const { attempts, accountId, event } = notice
      const isLast = event.kind === 'account-deleted'
      const dueAt = now + (isLast ? MAX_RETRY_INTERVAL_MS : RETRY_INTERVAL_MS)
      await tx.notices.update(id, { attempts: attempts + 1, dueAt })
      if (isLast) return { id: accountId, email: event.to }
      const account = await tx.accounts.find(accountId)
      if (!account || !mayGet(account, event.kind) || (await isObsolete(tx, notice, account, now))) {
        await tx.notices.update(id, { attempts: 0, dueAt: null })
        return undefined
      }
      // The first attempt was counted.
      if (attempts > 0) return account
      const { windowMs, max } = emailLimit(event.kind)
      const counter = `emails:${event.kind}:${event.kind === 'site-shared' ? toMailbox(event.to) : accountId}`
      if ((await tx.counters.add(counter, counterWindow(now, windowMs))) <= max) return account
      const postponed = findSwitch(event.kind) === 'moderation'
      // The attempt is not counted, so that the next one counts for its window. With all others: a run claims few.
      if (postponed)
        await tx.notices.postpone({ id, accountId, kind: event.kind }, now, now - (now % windowMs) + windowMs)
      else await tx.notices.update(id, { attempts: 0, dueAt: null })
      const consequence = postponed ? 'email postponed' : 'email not sent'
      log.info(`${consequence}: rate limit`, { account: accountId, kind: event.kind })
      return undefined
    })
  }

  /** The email is sent once the claim is known to be stored: it is due again if that took too long. */
  async #confirm({ id, event }: Notice, store: Store): Promise<boolean> {
    // Nothing else sends or deletes this one when the process ends before it is sent.
    if (event.kind === 'account-deleted') return true
    return store.execute('durable', ({ notices }) => notices.endAttempts(id))
  }

  /** A refused email is not sent again, and no further ones go to an address that the mail server refuses. */
  async #recordRefusal(
    { id, account, event }: { id: string; account: string; event: NoticeEvent },
    { reply }: MailRejectedError,
  ): Promise<void> {
    const { store, clock, log } = this.parts
    log.warn('email refused; no further emails about events until the next sign-in', {
      ...{ account, kind: event.kind, reply },
    })
    await store.execute('relaxed', ({ notices }) => notices.update(id, { attempts: 0, dueAt: null }))
    if (event.kind === 'site-shared') return
    await store.write('relaxed', { account }, (tx) =>
      tx.accounts.update(account, { emailRefusedAt: clock(), emailRefusal: reply }),
    )
  }

  async #send({ id, event, attempts }: Notice, { id: account, email }: Recipient): Promise<SendOutcome> {
    const { store, mail, addresses, branding, unsubscribeLinks, clock, log } = this.parts
    try {
      const to = event.kind === 'site-shared' ? event.to : email
      const unsubscribeUrl = unsubscribeLinks.create(account, event.kind)
      const message = noticeEmail({ to, event, addresses, branding, unsubscribeUrl, now: clock() })
      await mail.send({ ...message, isAwaited: false })
      return 'done'
    } catch (error) {
      if (error instanceof MailRejectedError) {
        await this.#recordRefusal({ id, account, event }, error)
        return 'done'
      }
      const failed = attempts + 1
      const delayMs = Math.min(RETRY_INTERVAL_MS * 2 ** attempts, MAX_RETRY_INTERVAL_MS)
      const mayBeSent = failed < MAX_ATTEMPTS || LASTING.has(event.kind)
      const dueAt = mayBeSent ? clock() + (failed < MAX_ATTEMPTS ? delayMs : DAY_MS) : null
      await store.execute<unknown>('relaxed', ({ notices, rows }) =>
        dueAt === null ? rows.remove('notices', { id }) : notices.update(id, { attempts: failed, dueAt }),
      )
      const outcome =
        dueAt === null ? 'email not sent; no further attempts' : 'email not sent; retry scheduled'
      const reason = error instanceof ApiError ? { cause: error.message } : { error }
      log.warn(outcome, { account, kind: event.kind, attempts: failed, ...reason })
      return error instanceof MailDeferredError ? 'deferred' : 'failed'
    }
  }
}

function mayGet(account: Account, kind: NoticeEvent['kind']): boolean {
  if (account.deletionStartedAt !== null || !wantsNotice(account, kind)) return false
  return account.emailRefusedAt === null || kind === 'site-shared'
}

/** Whether what a notice says is no longer true, or would be news to no one. */
async function isObsolete(
  queries: Queries,
  { id, accountId, event, createdAt }: Notice,
  account: Account,
  now: number,
): Promise<boolean> {
  const { sites, versions, domains, certificates, collaborators } = queries
  const isOld = now - createdAt > MAX_AGE_OF_REVERSED_MS
  switch (event.kind) {
    case 'site-expires': {
      const site = await sites.find(event.slug)
      return event.expiresAt <= now || site?.deletedAt !== null || site.expiresAt !== event.expiresAt
    }
    case 'review':
    case 'review-shared': {
      const site = await sites.find(await sites.currentName(event.slug))
      if (site?.deletedAt !== null || !(await findRole(queries, site, account))) return true
      const preview =
        event.preview === null ? undefined : await versions.findPreview(site.slug, event.preview)
      return event.preview !== null && (preview?.previewUntil ?? 0) <= now
    }
    case 'site-shared': {
      const slug = await sites.currentName(event.slug)
      return (await sites.find(slug))?.deletedAt !== null || !(await collaborators.has(slug, event.to))
    }
    case 'domain-fails': {
      const domain = await domains.find(accountId, event.domain)
      return domain === undefined || (domain.status === 'active' && domainNoticeId(domain) !== id)
    }
    case 'domain-works':
      return !(await wasSent(queries, domainNoticeId({ ...event, accountId })))
    case 'certificate-fails': {
      const domain = await domains.find(accountId, event.domain)
      const { problem, unusedSince, notAfter } = (await certificates.findSummary(event.domain)) ?? {}
      if (domain?.status !== 'active' || !problem || unusedSince !== null) return true
      return certificateNoticeId({ ...domain, problem, notAfter: notAfter ?? null }) !== id
    }
    case 'site-suspended':
    case 'site-resumed': {
      const site = await sites.find(event.slug)
      return isOld && site !== undefined && (site.suspension !== null) === (event.kind === 'site-resumed')
    }
    case 'account-suspended':
    case 'account-resumed':
      return isOld && (account.suspension !== null) === (event.kind === 'account-resumed')
    default:
      return false
  }
}

/** Not while it waits for the mail server. */
async function wasSent({ notices }: Queries, id: string): Promise<boolean> {
  const notice = await notices.find(id)
  return notice !== undefined && notice.attempts > 0 && notice.dueAt === null
}
