import type { Kysely } from 'kysely'
import type { DomainRow, Schema } from '../schema.ts'

export type Domains = ReturnType<typeof domainsOver>

export function domainsOver(db: Kysely<Schema>) {
  const all = () => db.selectFrom('domains').selectAll()
  return {
    byAccount: (accountId: string) =>
      all().where('account_id', '=', accountId).orderBy('created_at').orderBy('domain').execute(),

    find: (accountId: string, domain: string) =>
      all().where('account_id', '=', accountId).where('domain', '=', domain).executeTakeFirst(),

    active: (domain: string) =>
      all().where('domain', '=', domain).where('status', '=', 'active').executeTakeFirst(),

    async count(accountId: string): Promise<number> {
      const row = await db
        .selectFrom('domains')
        .select((e) => e.fn.countAll<number>().as('domains'))
        .where('account_id', '=', accountId)
        .executeTakeFirstOrThrow()
      return Number(row.domains)
    },

    async insert(row: DomainRow): Promise<void> {
      await db.insertInto('domains').values(row).execute()
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
  }
}
