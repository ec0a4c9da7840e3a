import { type Expression, sql } from '#kysely'
import { keyedQueries, startingWith } from '../rows.ts'
import { type Domain, domainFields } from '../tables/domains.ts'
import { emailLimit, type FailingCertificate, type Notice } from '../tables/notices.ts'
import { type Site, siteTable } from '../tables/sites.ts'

type NewNotice = Pick<Notice, 'id' | 'accountId' | 'event' | 'createdAt'>

/** `dueAt` is the next attempt; `attempts` counts those made. */
export class NoticeQueries extends keyedQueries('notices', 'id') {
  /** Changes nothing when the event has a notice. */
  async add(notice: NewNotice): Promise<void> {
    await this.table.insertMissing({ ...notice, attempts: 0, dueAt: notice.createdAt })
  }

  /** For events that can follow one another without end: nothing when the account has the emails of its limit. */
  async addWithinLimit(notice: NewNotice): Promise<void> {
    const { accountId, event, createdAt } = notice
    const { windowMs, max } = emailLimit(event.kind)
    if ((await this.count(accountId, event.kind, createdAt - windowMs)) < max) await this.add(notice)
  }

  count(accountId: string, kind: Notice['event']['kind'], since: number): Promise<number> {
    return this.table.count({ accountId, id: startingWith(`${kind} `), createdAt: { '>': since } })
  }

  due(now: number, limit: number): Promise<Notice[]> {
    return this.table.list({ dueAt: { '<=': now } }, 'dueAt', 'id', { limit })
  }

  /** Returns whether there was an attempt to come: once for each of them. */
  endAttempts(id: string): Promise<boolean> {
    return this.table.update({ id, dueAt: { '!=': null } }, { dueAt: null })
  }

  /** A notice, and those of its account and kind that are due and were not tried. */
  async postpone(
    { id, accountId, kind }: { id: string; accountId: string; kind: Notice['event']['kind'] },
    now: number,
    dueAt: number,
  ): Promise<void> {
    // One statement: two would lock the rows of one account in different orders.
    await this.table.update(
      (all) =>
        all
          .where('account_id', '=', accountId)
          .where((e) =>
            e.or([
              e('id', '=', id),
              e.and([e('id', 'like', `${kind} %`), e('attempts', '=', 0), e('due_at', '<=', now)]),
            ]),
          ),
      { attempts: 0, dueAt },
    )
  }

  /** Sites of accounts with reminders that expire until then and have not changed since `changedBefore`. */
  async expiringSites(until: number, changedBefore: number, limit: number): Promise<Site[]> {
    const id = sql<string>`'site-expires ' || sites.slug || ' ' || sites.expires_at`
    return siteTable.toEntities(
      await this.db
        .selectFrom('sites')
        .innerJoin('accounts', 'accounts.id', 'sites.owner_id')
        .selectAll('sites')
        .where('deleted_at', 'is', null)
        .where('expires_at', '<=', until)
        .where('updated_at', '<', changedBefore)
        .where('accounts.reminders', '=', 1)
        .where(this.#hasNoNotice(id))
        .limit(limit)
        .execute(),
    )
  }

  failingDomains(since: number, limit: number): Promise<Domain[]> {
    const id = sql<string>`'domain-fails ' || domains.account_id || ' ' || domains.domain || ' ' || domains.failing_since`
    return this.rows('domains', domainFields).list((all) =>
      all
        .where('status', '=', 'active')
        .where('failing_since', '<=', since)
        .where(this.#hasNoNotice(id))
        .limit(limit),
    )
  }

  async failingCertificates(since: number, limit: number): Promise<FailingCertificate[]> {
    const id = sql<string>`'certificate-fails ' || domains.account_id || ' ' || name || ' ' || coalesce(verified_at, 0) || ' ' || coalesce(not_after, 0)`
    return await this.db
      .selectFrom('certificates')
      .innerJoin('domains', 'domains.domain', 'certificates.name')
      .select([
        'domains.domain',
        'domains.account_id as accountId',
        'domains.verified_at as verifiedAt',
        sql<string>`problem`.as('problem'),
        'not_after as notAfter',
      ])
      .where('domains.status', '=', 'active')
      .where('unused_since', 'is', null)
      .where('problem', 'is not', null)
      .where((e) =>
        e.or([
          e.and([e('not_after', 'is not', null), e('renew_at', '<=', since)]),
          e.and([e('not_after', 'is', null), e('domains.verified_at', '<=', since)]),
        ]),
      )
      .where(this.#hasNoNotice(id))
      .limit(limit)
      .execute()
  }

  /** Except for a notice of the deletion that is due. */
  async deleteOfAccount(accountId: string): Promise<void> {
    const isKept = sql<boolean>`(id like 'account-deleted %' and due_at is not null)`
    await this.table.remove((all) => all.where('account_id', '=', accountId).where((e) => e.not(isKept)))
  }

  #hasNoNotice(id: Expression<string>) {
    return sql<boolean>`not exists (select 1 from notices where notices.id = ${id})`
  }
}
