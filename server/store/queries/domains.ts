import type { Kysely } from 'kysely'
import type { DomainRow, HeldDomainRow, Schema } from '../schema.ts'

export type DomainQueries = ReturnType<typeof domainQueries>

export function domainQueries(db: Kysely<Schema>) {
  const all = () => db.selectFrom('domains').selectAll()
  return {
    byAccount: (accountId: string) =>
      all().where('account_id', '=', accountId).orderBy('created_at').orderBy('domain').execute(),

    /** Domains of several accounts, each account's in the order of `byAccount`. */
    byAccounts: (accountIds: readonly string[]): Promise<DomainRow[]> =>
      accountIds.length === 0
        ? Promise.resolve([])
        : all()
            .where('account_id', 'in', [...accountIds])
            .orderBy('account_id')
            .orderBy('created_at')
            .orderBy('domain')
            .execute(),

    bySite: (slug: string) => all().where('slug', '=', slug).orderBy('domain').execute(),

    find: (accountId: string, domain: string) =>
      all().where('account_id', '=', accountId).where('domain', '=', domain).executeTakeFirst(),

    /** The row of the account that has the name; its `primary_domain` may be active or not. */
    active: (domain: string) =>
      all().where('domain', '=', domain).where('status', '=', 'active').executeTakeFirst(),

    /** The account's name that redirects to `primary`, if there is one. */
    secondary: (accountId: string, primary: string) =>
      all().where('account_id', '=', accountId).where('primary_domain', '=', primary).executeTakeFirst(),

    /** Names due at `now`, the longest due first. */
    due: (now: number, { limit, slow }: { limit: number; slow: boolean }) =>
      all()
        .where('slow', '=', slow ? 1 : 0)
        .where('next_check_at', '<=', now)
        .orderBy('next_check_at')
        .orderBy('domain')
        .limit(limit)
        .execute(),

    /** Number of domains counted against the plan: a root domain and its `www` are one. */
    async count(accountId: string): Promise<number> {
      const row = await db
        .selectFrom('domains')
        .select((e) => e.fn.countAll<number>().as('domains'))
        .where('account_id', '=', accountId)
        .where('primary_domain', 'is', null)
        .executeTakeFirstOrThrow()
      return Number(row.domains)
    },

    async insert(row: DomainRow): Promise<void> {
      await db.insertInto('domains').values(row).execute()
    },

    async update(
      { account_id, domain }: Pick<DomainRow, 'account_id' | 'domain'>,
      change: Partial<Omit<DomainRow, 'account_id' | 'domain'>>,
    ): Promise<void> {
      await db
        .updateTable('domains')
        .set(change)
        .where('account_id', '=', account_id)
        .where('domain', '=', domain)
        .execute()
    },

    async remove(accountId: string, domain: string): Promise<boolean> {
      const gone = await db
        .deleteFrom('domains')
        .where('account_id', '=', accountId)
        .where('domain', '=', domain)
        .executeTakeFirst()
      return gone.numDeletedRows > 0n
    },

    async removeOfSite(slug: string): Promise<void> {
      await db.deleteFrom('domains').where('slug', '=', slug).execute()
    },

    /** The account for which a deleted name is reserved at `now`. */
    reservation: (domain: string, now: number) =>
      db
        .selectFrom('held_domains')
        .selectAll()
        .where('domain', '=', domain)
        .where('until', '>', now)
        .executeTakeFirst(),

    async countReservations(accountId: string, now: number): Promise<number> {
      const row = await db
        .selectFrom('held_domains')
        .select((e) => e.fn.countAll<number>().as('domains'))
        .where('account_id', '=', accountId)
        .where('until', '>', now)
        .executeTakeFirstOrThrow()
      return Number(row.domains)
    },

    /** Reserves a name and replaces an earlier reservation. */
    async reserve(row: HeldDomainRow): Promise<void> {
      const { domain: _, ...rest } = row
      await db
        .insertInto('held_domains')
        .values(row)
        .onConflict((conflict) => conflict.column('domain').doUpdateSet(rest))
        .execute()
    },

    async releaseReservation(domain: string): Promise<void> {
      await db.deleteFrom('held_domains').where('domain', '=', domain).execute()
    },

    /** Deletes all reservations of an account. */
    async releaseReservations(accountId: string): Promise<void> {
      await db.deleteFrom('held_domains').where('account_id', '=', accountId).execute()
    },

    async deleteExpiredReservations(now: number): Promise<number> {
      const gone = await db.deleteFrom('held_domains').where('until', '<=', now).executeTakeFirst()
      return Number(gone.numDeletedRows)
    },
  }
}
