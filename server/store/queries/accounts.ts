import type { Kysely } from 'kysely'
import type { AccountRow, Schema } from '../schema.ts'

export type AccountQueries = ReturnType<typeof accountQueries>

export function accountQueries(db: Kysely<Schema>) {
  const all = () => db.selectFrom('accounts').selectAll()
  return {
    byId: (id: string) => all().where('id', '=', id).executeTakeFirst(),

    /** Accounts that exist. */
    byIds: (ids: readonly string[]): Promise<AccountRow[]> =>
      ids.length === 0
        ? Promise.resolve([])
        : all()
            .where('id', 'in', [...ids])
            .execute(),

    byEmail: (email: string) => all().where('email', '=', email).executeTakeFirst(),

    byKeyHash: (hash: string) => all().where('key_hash', '=', hash).executeTakeFirst(),

    async insert(row: AccountRow): Promise<void> {
      await db.insertInto('accounts').values(row).execute()
    },

    async setKey(id: string, keyHash: string): Promise<void> {
      await db.updateTable('accounts').set({ key_hash: keyHash }).where('id', '=', id).execute()
    },

    async setPlan(id: string, plan: AccountRow['plan']): Promise<void> {
      await db.updateTable('accounts').set({ plan }).where('id', '=', id).execute()
    },

    /** Removes the key of an account that is being deleted; keeps an earlier start time. */
    async markBeingDeleted(id: string, now: number): Promise<void> {
      await db
        .updateTable('accounts')
        .set({ key_hash: null, leaving_since: now })
        .where('id', '=', id)
        .where('leaving_since', 'is', null)
        .execute()
    },

    /** Accounts that are being deleted, the longest waiting first. */
    beingDeleted: (limit: number) =>
      all().where('leaving_since', 'is not', null).orderBy('leaving_since').limit(limit).execute(),

    async remove(id: string): Promise<void> {
      await db.deleteFrom('accounts').where('id', '=', id).execute()
    },
  }
}
