import type { Kysely } from 'kysely'
import type { CounterQueries } from '../contract/counters.ts'
import type { Schema } from '../schema.ts'

export class SqlCounterQueries implements CounterQueries {
  readonly #db: Kysely<Schema>

  constructor(db: Kysely<Schema>) {
    this.#db = db
  }

  async add(caller: string, windowStart: number) {
    const row = await this.#db
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
  }

  async decrement(caller: string, windowStart: number) {
    await this.#db
      .updateTable('counters')
      .set((e) => ({ requests: e('requests', '-', 1) }))
      .where('caller', '=', caller)
      .where('window_start', '=', windowStart)
      .execute()
  }

  async value(caller: string, windowStart: number) {
    const row = await this.#db
      .selectFrom('counters')
      .select('requests')
      .where('caller', '=', caller)
      .where('window_start', '=', windowStart)
      .executeTakeFirst()
    return row?.requests ?? 0
  }

  async delete(caller: string) {
    await this.#db.deleteFrom('counters').where('caller', '=', caller).execute()
  }

  async deleteBefore(windowStart: number) {
    const deleted = await this.#db
      .deleteFrom('counters')
      .where('window_start', '<', windowStart)
      .executeTakeFirst()
    return Number(deleted.numDeletedRows)
  }
}
