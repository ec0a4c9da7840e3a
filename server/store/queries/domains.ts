import type { ExpressionBuilder } from 'kysely'
import type { Schema } from '../schema.ts'
import { countDeleted, hasDeleted, QueryGroup } from '../statement.ts'
import { type Domain, type DomainReservation, domainFields, reservationTable } from '../tables/domains.ts'

const { toEntities, toEntityIfFound } = domainFields

/** A second active account for a name rejects. A change of an absent domain changes nothing. */
export class DomainQueries extends QueryGroup {
  async byAccount(accountId: string): Promise<Domain[]> {
    return toEntities(
      await this.#all().where('account_id', '=', accountId).orderBy('created_at').orderBy('domain').execute(),
    )
  }

  async byAccounts(accountIds: readonly string[]): Promise<Domain[]> {
    return accountIds.length === 0
      ? []
      : toEntities(
          await this.#all()
            .where('account_id', 'in', [...accountIds])
            .orderBy('account_id')
            .orderBy('created_at')
            .orderBy('domain')
            .execute(),
        )
  }

  async bySite(slug: string): Promise<Domain[]> {
    return toEntities(await this.#all().where('slug', '=', slug).orderBy('domain').execute())
  }

  async find(accountId: string, domain: string): Promise<Domain | undefined> {
    return toEntityIfFound(
      await this.#all().where('account_id', '=', accountId).where('domain', '=', domain).executeTakeFirst(),
    )
  }

  /** The domain of the account that has the name; its `primaryDomain` may be active or not. */
  async active(domain: string): Promise<Domain | undefined> {
    return toEntityIfFound(
      await this.#all().where('domain', '=', domain).where('status', '=', 'active').executeTakeFirst(),
    )
  }

  /** The account's name that redirects to `primary`, if there is one. */
  async secondary(accountId: string, primary: string): Promise<Domain | undefined> {
    return toEntityIfFound(
      await this.#all()
        .where('account_id', '=', accountId)
        .where('primary_domain', '=', primary)
        .executeTakeFirst(),
    )
  }

  /**
   * Claims names due at `now`, the longest due first: until that time, or until their next check is planned, no other
   * call returns them. One statement. Concurrent calls may return fewer names than are due.
   */
  async claimDue(
    now: number,
    { limit, slow, until }: { limit: number; slow: boolean; until: number },
  ): Promise<Domain[]> {
    const isFree = (e: ExpressionBuilder<Schema, 'domains'>) =>
      e.or([e('checking_until', 'is', null), e('checking_until', '<=', now)])
    const due = this.db
      .selectFrom('domains')
      .select(['account_id', 'domain'])
      .where('is_slow', '=', slow ? 1 : 0)
      .where('next_check_at', '<=', now)
      .where(isFree)
      .orderBy('next_check_at')
      .orderBy('domain')
      .limit(limit)
    const claimed = await this.db
      .updateTable('domains')
      .set({ checking_until: until })
      .where((e) => e(e.refTuple('account_id', 'domain'), 'in', due.$asTuple('account_id', 'domain')))
      // Another call may have claimed it since the subquery.
      .where(isFree)
      .returningAll()
      .execute()
    return toEntities(claimed).sort((one, other) => one.nextCheckAt! - other.nextCheckAt!)
  }

  /** Number of domains counted against the plan: a root domain and its `www` are one. */
  async count(accountId: string): Promise<number> {
    const row = await this.db
      .selectFrom('domains')
      .select((e) => e.fn.countAll<number>().as('domains'))
      .where('account_id', '=', accountId)
      .where('primary_domain', 'is', null)
      .executeTakeFirstOrThrow()
    return Number(row.domains)
  }

  async insert(domain: Domain): Promise<void> {
    await this.db.insertInto('domains').values(domainFields.toRow(domain)).execute()
  }

  /** Properties that are absent stay. */
  async update(
    { accountId, domain }: Pick<Domain, 'accountId' | 'domain'>,
    change: Partial<Omit<Domain, 'accountId' | 'domain'>>,
  ): Promise<void> {
    await this.db
      .updateTable('domains')
      .set({
        ...domainFields.toRow(change),
        ...(change.nextCheckAt === undefined ? {} : { checking_until: null }),
      })
      .where('account_id', '=', accountId)
      .where('domain', '=', domain)
      .execute()
  }

  async remove(accountId: string, domain: string): Promise<boolean> {
    return hasDeleted(
      this.db.deleteFrom('domains').where('account_id', '=', accountId).where('domain', '=', domain),
    )
  }

  async removeOfSite(slug: string): Promise<void> {
    await this.db.deleteFrom('domains').where('slug', '=', slug).execute()
  }

  async reservation(domain: string, now: number): Promise<DomainReservation | undefined> {
    return reservationTable.toEntityIfFound(
      await this.db
        .selectFrom('held_domains')
        .selectAll()
        .where('domain', '=', domain)
        .where('until', '>', now)
        .executeTakeFirst(),
    )
  }

  async countReservations(accountId: string, now: number): Promise<number> {
    const row = await this.db
      .selectFrom('held_domains')
      .select((e) => e.fn.countAll<number>().as('domains'))
      .where('account_id', '=', accountId)
      .where('until', '>', now)
      .executeTakeFirstOrThrow()
    return Number(row.domains)
  }

  async reserve(reservation: DomainReservation): Promise<void> {
    const row = reservationTable.toRow(reservation)
    const { domain: _, ...rest } = row
    await this.db
      .insertInto('held_domains')
      .values(row)
      .onConflict((conflict) => conflict.column('domain').doUpdateSet(rest))
      .execute()
  }

  async releaseReservation(domain: string): Promise<void> {
    await this.db.deleteFrom('held_domains').where('domain', '=', domain).execute()
  }

  async releaseReservations(accountId: string): Promise<void> {
    await this.db.deleteFrom('held_domains').where('account_id', '=', accountId).execute()
  }

  async deleteExpiredReservations(now: number): Promise<number> {
    return countDeleted(this.db.deleteFrom('held_domains').where('until', '<=', now))
  }

  #all() {
    return this.db.selectFrom('domains').selectAll()
  }
}
