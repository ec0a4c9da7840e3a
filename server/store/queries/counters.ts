import type { Kysely } from 'kysely'
import type { Schema } from '../schema.ts'

export type Counters = ReturnType<typeof countersOver>

export function countersOver(db: Kysely<Schema>) {
  return {
    /** Adds one to a caller's window and answers how many that makes. Exact over all processes. */
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

    /** One that was added does not count after all. */
    async takeBack(caller: string, windowStart: number): Promise<void> {
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

    /** Forgets every window of a caller. */
    async drop(caller: string): Promise<void> {
      await db.deleteFrom('counters').where('caller', '=', caller).execute()
    },

    async dropBefore(windowStart: number): Promise<number> {
      const gone = await db.deleteFrom('counters').where('window_start', '<', windowStart).executeTakeFirst()
      return Number(gone.numDeletedRows)
    },
  }
}
