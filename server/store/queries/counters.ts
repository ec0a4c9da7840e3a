import type { Kysely } from 'kysely'
import type { Schema } from '../schema.ts'
import { statement } from '../statement.ts'
import type { CounterWindow } from '../tables/counters.ts'
import { countDeleted, QueryGroup } from './query-group.ts'

/** Counters of callers by window; exact over all processes. */
export class CounterQueries extends QueryGroup {
  async add(caller: string, windowStart: number): Promise<number> {
    return (await ADD(this.db, caller, windowStart))[0]!.requests
  }

  /** Adds one to each of these windows, which differ. */
  async addEach(windows: readonly CounterWindow[]): Promise<void> {
    await add(this.db, windows).execute()
  }

  /** Reverts one `add`; without one it changes nothing. */
  async decrement(caller: string, windowStart: number): Promise<void> {
    await this.db
      .updateTable('counters')
      .set((e) => ({ requests: e('requests', '-', 1) }))
      .where('caller', '=', caller)
      .where('window_start', '=', windowStart)
      .execute()
  }

  async value(caller: string, windowStart: number): Promise<number> {
    const row = await this.db
      .selectFrom('counters')
      .select('requests')
      .where('caller', '=', caller)
      .where('window_start', '=', windowStart)
      .executeTakeFirst()
    return row?.requests ?? 0
  }

  async values(windows: readonly CounterWindow[]): Promise<number[]> {
    const rows = await this.db
      .selectFrom('counters')
      .selectAll()
      .where((e) =>
        e.or(windows.map(({ caller, windowStart }) => e.and({ caller, window_start: windowStart }))),
      )
      .execute()
    return windows.map(
      ({ caller, windowStart }) =>
        rows.find((row) => row.caller === caller && row.window_start === windowStart)?.requests ?? 0,
    )
  }

  async delete(caller: string): Promise<void> {
    await this.db.deleteFrom('counters').where('caller', '=', caller).execute()
  }

  async deleteBefore(windowStart: number, limit: number): Promise<number> {
    const old = this.db
      .selectFrom('counters')
      .select(['caller', 'window_start'])
      .where('window_start', '<', windowStart)
      .orderBy('window_start')
      .limit(limit)
    return countDeleted(
      this.db
        .deleteFrom('counters')
        .where((e) => e(e.refTuple('caller', 'window_start'), 'in', old.$asTuple('caller', 'window_start'))),
    )
  }
}

const ADD = statement((db, caller: string, windowStart: number) =>
  add(db, [{ caller, windowStart }]).returning('requests'),
)

function add(db: Kysely<Schema>, windows: readonly CounterWindow[]) {
  return db
    .insertInto('counters')
    .values(windows.map(({ caller, windowStart }) => ({ caller, window_start: windowStart, requests: 1 })))
    .onConflict((c) =>
      c
        .columns(['caller', 'window_start'])
        .doUpdateSet((e) => ({ requests: e('counters.requests', '+', 1) })),
    )
}
