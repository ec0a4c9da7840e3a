import type { Kysely } from 'kysely'
import type { Schema } from '../schema.ts'

export type CounterQueries = ReturnType<typeof counterQueries>

export function counterQueries(db: Kysely<Schema>) {
  return {
    /** Adds one to a caller's window and returns the count. Exact over all processes. */
    async add(caller: string, windowStart: number): Promise<number> {
      const row = await db
        .insertInto('counters')
        .values({ caller, window_start: windowStart, requests: 1 })
        .onConflict((c) =>
          c
            .columns(['caller', 'window_start'])
            .doUpdateSet((e) => ({ requests: e('counters.requests', '+', 1) })),
        )
        .returning('requests')
        .executeTakeFirstOrThrow()
      return row.requests
    },

    /** Reverts one `add`. */
    async decrement(caller: string, windowStart: number): Promise<void> {
      await db
        .updateTable('counters')
        .set((e) => ({ requests: e('requests', '-', 1) }))
        .where('caller', '=', caller)
        .where('window_start', '=', windowStart)
        .execute()
    },

    async value(caller: string, windowStart: number): Promise<number> {
      const row = await db
        .selectFrom('counters')
        .select('requests')
        .where('caller', '=', caller)
        .where('window_start', '=', windowStart)
        .executeTakeFirst()
      return row?.requests ?? 0
    },

    /** Deletes every window of a caller. */
    async delete(caller: string): Promise<void> {
      await db.deleteFrom('counters').where('caller', '=', caller).execute()
    },

    async deleteBefore(windowStart: number): Promise<number> {
      const gone = await db.deleteFrom('counters').where('window_start', '<', windowStart).executeTakeFirst()
      return Number(gone.numDeletedRows)
    },
  }
}
