import { sql } from 'kysely'
import type { ActivityEntry } from '../tables/activity.ts'
import { countDeleted, QueryGroup } from './query-group.ts'

export class ActivityQueries extends QueryGroup {
  /** Adds to counts. Not idempotent. */
  async add(entries: readonly ActivityEntry[]): Promise<void> {
    if (entries.length === 0) return
    await this.db
      .insertInto('activity')
      .values(inLockOrder(entries))
      .onConflict((c) =>
        c
          .columns(['width', 'at', 'name'])
          .doUpdateSet((e) => ({ value: e('activity.value', '+', e.ref('excluded.value')) })),
      )
      .execute()
  }

  async set(entries: readonly ActivityEntry[]): Promise<void> {
    if (entries.length === 0) return
    await this.db
      .insertInto('activity')
      .values(inLockOrder(entries))
      .onConflict((c) =>
        c.columns(['width', 'at', 'name']).doUpdateSet((e) => ({ value: e.ref('excluded.value') })),
      )
      .execute()
  }

  /** Sums and maxima in intervals of `interval` milliseconds, by their start and name, in no order. */
  async series(range: {
    width: number
    from: number
    interval: number
  }): Promise<{ at: number; name: string; sum: number; max: number }[]> {
    const { width, from, interval } = range
    const start = sql<number>`at - at % ${sql.lit(interval)}`
    const rows = await this.db
      .selectFrom('activity')
      .select((e) => [start.as('start'), 'name', e.fn.sum('value').as('sum'), e.fn.max('value').as('max')])
      .where('width', '=', width)
      .where('at', '>=', from)
      .groupBy([start, 'name'])
      .execute()
    return rows.map(({ start, name, sum, max }) => ({
      ...{ at: Number(start), name },
      ...{ sum: Number(sum), max: Number(max) },
    }))
  }

  async deleteBefore(width: number, before: number): Promise<number> {
    return countDeleted(this.db.deleteFrom('activity').where('width', '=', width).where('at', '<', before))
  }
}

/** Concurrent statements that lock rows in a common order do not deadlock. */
function inLockOrder(entries: readonly ActivityEntry[]): ActivityEntry[] {
  return entries.toSorted((one, other) => one.width - other.width || (one.name < other.name ? -1 : 1))
}
