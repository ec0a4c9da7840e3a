import { type EntityOf, integer, Table, text } from '../table.ts'
/** A value of an interval, which begins at `at` and has this width in milliseconds. */
export const activityTable = new Table({
  width: integer,
  at: integer,
  name: text,
  value: integer,
})

export type ActivityEntry = EntityOf<typeof activityTable>

/** Numbers of the service over time: counts of all processes, and totals. */
export interface ActivityQueries {
  /** Adds to counts. Not idempotent. */
  add(entries: readonly ActivityEntry[]): Promise<void>

  /** Replaces values. */
  set(entries: readonly ActivityEntry[]): Promise<void>

  /** Sums and maxima in intervals of `interval` milliseconds, by their start and name, in no order. */
  series(options: {
    width: number
    from: number
    interval: number
  }): Promise<{ at: number; name: string; sum: number; max: number }[]>

  /** Removes intervals of this width that began earlier. Returns their number of values. */
  deleteBefore(width: number, before: number): Promise<number>
}
