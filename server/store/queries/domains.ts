import type { Kysely } from 'kysely'
import type { DomainRow, HeldDomainRow, Schema } from '../schema.ts'

export type Domains = ReturnType<typeof domainsOver>

export function domainsOver(db: Kysely<Schema>) {
  const all = () => db.selectFrom('domains').selectAll()
  return {
    byAccount: (accountId: string) =>
      all().where('account_id', '=', accountId).orderBy('created_at').orderBy('domain').execute(),

    /** Those of several accounts, each account's in the order of `byAccount`. */
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

    /** The row of the one account that has the name; its `primary_domain` may be active or not. */
    active: (domain: string) =>
      all().where('domain', '=', domain).where('status', '=', 'active').executeTakeFirst(),

    /** The account's name that shows what `primary` shows, if there is one. */
    secondary: (accountId: string, primary: string) =>
      all().where('account_id', '=', accountId).where('primary_domain', '=', primary).executeTakeFirst(),

    /** Those to be looked up by `now`, the longest due first; and those planned `beyond` what a clock that was right plans. */
    due: (now: number, { limit, beyond, slow }: { limit: number; beyond: number; slow: boolean }) =>
      all()
        .where('slow', '=', slow ? 1 : 0)
        .where((e) => e.or([e('next_check_at', '<=', now), e('next_check_at', '>', beyond)]))
        .orderBy('next_check_at')
        .orderBy('domain')
        .limit(limit)
        .execute(),

    /** How many of its plan's domains an account uses: a pair of root and `www` is one. */
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

    /** For whom a deleted name is kept at `now`. */
    held: (domain: string, now: number) =>
      db
        .selectFrom('held_domains')
        .selectAll()
        .where('domain', '=', domain)
        .where('until', '>', now)
        .executeTakeFirst(),

    async heldBy(accountId: string, now: number): Promise<number> {
      const row = await db
        .selectFrom('held_domains')
        .select((e) => e.fn.countAll<number>().as('domains'))
        .where('account_id', '=', accountId)
        .where('until', '>', now)
        .executeTakeFirstOrThrow()
      return Number(row.domains)
    },

    /** Holds a name in place of whatever held it before. */
    async hold(row: HeldDomainRow): Promise<void> {
      const { domain: _, ...rest } = row
      await db
        .insertInto('held_domains')
        .values(row)
        .onConflict((conflict) => conflict.column('domain').doUpdateSet(rest))
        .execute()
    },

    async letGo(domain: string): Promise<void> {
      await db.deleteFrom('held_domains').where('domain', '=', domain).execute()
    },

    /** Keeps no name for that account any longer. */
    async letGoOf(accountId: string): Promise<void> {
      await db.deleteFrom('held_domains').where('account_id', '=', accountId).execute()
    },

    async dropHeld(now: number): Promise<number> {
      const gone = await db.deleteFrom('held_domains').where('until', '<=', now).executeTakeFirst()
      return Number(gone.numDeletedRows)
    },
  }
}
