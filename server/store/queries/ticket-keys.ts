import type { Kysely } from 'kysely'
import type { Schema, TicketKeyRow } from '../schema.ts'

export type TicketKeyQueries = ReturnType<typeof ticketKeysOver>

/** Keys of TLS session tickets by the period that they are for. */
export function ticketKeysOver(db: Kysely<Schema>) {
  return {
    find: (period: number): Promise<TicketKeyRow | undefined> =>
      db.selectFrom('ticket_keys').selectAll().where('period', '=', period).executeTakeFirst(),

    /** Keeps a key, in the place of one that was kept for its period. */
    async keep(row: TicketKeyRow): Promise<void> {
      await db
        .insertInto('ticket_keys')
        .values(row)
        .onConflict((conflict) => conflict.column('period').doUpdateSet({ key: row.key }))
        .execute()
    },

    async dropBefore(period: number): Promise<void> {
      await db.deleteFrom('ticket_keys').where('period', '<', period).execute()
    },
  }
}
