import type { ExpressionBuilder } from 'kysely'
import { QueryGroup } from '../rows.ts'
import type { Schema } from '../schema.ts'
import { type Domain, type DomainReservation, domainFields } from '../tables/domains.ts'

/** A second active account for a name rejects. A change of an absent domain changes nothing. */
export class DomainQueries extends QueryGroup {
  readonly #rows = this.rows('domains', domainFields)
  readonly #reservations = this.rows('held_domains')

  byAccount(accountId: string | readonly string[]): Promise<Domain[]> {
    return this.#rows.list({ accountId }, 'accountId', 'createdAt', 'domain')
  }

  bySite(slug: string): Promise<Domain[]> {
    return this.#rows.list({ slug }, 'domain')
  }

  find(accountId: string, domain: string): Promise<Domain | undefined> {
    return this.#rows.find({ accountId, domain })
  }

  /** The domain of the account that has the name; its `primaryDomain` may be active or not. */
  active(domain: string): Promise<Domain | undefined> {
    return this.#rows.find({ domain, status: 'active' })
  }

  /** The account's name that redirects to `primary`, if there is one. */
  secondary(accountId: string, primary: string): Promise<Domain | undefined> {
    return this.#rows.find({ accountId, primaryDomain: primary })
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
    return domainFields.toEntities(claimed).sort((one, other) => one.nextCheckAt! - other.nextCheckAt!)
  }

  /** Number of domains counted against the plan: a root domain and its `www` are one. */
  count(accountId: string): Promise<number> {
    return this.#rows.count({ accountId, primaryDomain: null })
  }

  insert(domain: Domain): Promise<void> {
    return this.#rows.insert(domain)
  }

  /** Properties that are absent stay. */
  async update(
    { accountId, domain }: Pick<Domain, 'accountId' | 'domain'>,
    change: Partial<Omit<Domain, 'accountId' | 'domain'>>,
  ): Promise<void> {
    const claim = change.nextCheckAt === undefined ? {} : { checkingUntil: null }
    await this.#rows.update({ accountId, domain }, { ...change, ...claim })
  }

  reservation(domain: string, now: number): Promise<DomainReservation | undefined> {
    return this.#reservations.find({ domain, until: { '>': now } })
  }

  countReservations(accountId: string, now: number): Promise<number> {
    return this.#reservations.count({ accountId, until: { '>': now } })
  }

  async releaseReservations(accountId: string): Promise<void> {
    await this.#reservations.remove({ accountId })
  }
}
