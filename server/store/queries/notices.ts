import { type Expression, sql } from 'kysely'
import { QueryGroup } from '../rows.ts'
import { countDeleted } from '../statement.ts'
import { type Domain, domainFields } from '../tables/domains.ts'
import { type FailingCertificate, type Notice, noticeTable } from '../tables/notices.ts'
import { type Site, siteTable } from '../tables/sites.ts'

export class NoticeQueries extends QueryGroup {
  /** Changes nothing when the event has a notice. */
  async add(notice: Pick<Notice, 'id' | 'accountId' | 'event' | 'createdAt'>): Promise<void> {
    await this.db
      .insertInto('notices')
      .values(noticeTable.toRow({ ...notice, attempts: 0, dueAt: notice.createdAt }))
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute()
  }

  async find(id: string): Promise<Notice | undefined> {
    return noticeTable.toEntityIfFound(
      await this.db.selectFrom('notices').selectAll().where('id', '=', id).executeTakeFirst(),
    )
  }

  async count(accountId: string, kind: Notice['event']['kind'], since: number): Promise<number> {
    const row = await this.db
      .selectFrom('notices')
      .select((e) => e.fn.countAll<number>().as('notices'))
      .where('account_id', '=', accountId)
      .where('id', 'like', `${kind} %`)
      .where('created_at', '>', since)
      .executeTakeFirstOrThrow()
    return Number(row.notices)
  }

  async due(now: number, limit: number): Promise<Notice[]> {
    const query = this.db.selectFrom('notices').selectAll().where('due_at', '<=', now)
    return noticeTable.toEntities(await query.orderBy('due_at').orderBy('id').limit(limit).execute())
  }

  /** Sets the next attempt; `attempts` counts those made. */
  async schedule(id: string, { attempts, dueAt }: Pick<Notice, 'attempts' | 'dueAt'>): Promise<void> {
    await this.db.updateTable('notices').set({ attempts, due_at: dueAt }).where('id', '=', id).execute()
  }

  /** A notice, and those of its account and kind that are due and were not tried. */
  async postpone(
    { id, accountId, kind }: { id: string; accountId: string; kind: Notice['event']['kind'] },
    now: number,
    dueAt: number,
  ): Promise<void> {
    await this.schedule(id, { attempts: 0, dueAt })
    await this.db
      .updateTable('notices')
      .set({ due_at: dueAt })
      .where('account_id', '=', accountId)
      .where('id', 'like', `${kind} %`)
      .where('attempts', '=', 0)
      .where('due_at', '<=', now)
      .execute()
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

  async failingDomains(since: number, limit: number): Promise<Domain[]> {
    const id = sql<string>`'domain-fails ' || domains.account_id || ' ' || domains.domain || ' ' || domains.failing_since`
    return domainFields.toEntities(
      await this.db
        .selectFrom('domains')
        .selectAll()
        .where('status', '=', 'active')
        .where('failing_since', '<=', since)
        .where(this.#hasNoNotice(id))
        .limit(limit)
        .execute(),
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
    await this.db
      .deleteFrom('notices')
      .where('account_id', '=', accountId)
      .where((e) => e.or([e('id', 'not like', 'account-deleted %'), e('due_at', 'is', null)]))
      .execute()
  }

  async deleteBefore(createdAt: number, limit: number): Promise<number> {
    const old = this.db
      .selectFrom('notices')
      .select('id')
      .where('created_at', '<', createdAt)
      .orderBy('created_at')
      .limit(limit)
    return countDeleted(this.db.deleteFrom('notices').where('id', 'in', old))
  }

  #hasNoNotice(id: Expression<string>) {
    return sql<boolean>`not exists (select 1 from notices where notices.id = ${id})`
  }
}
