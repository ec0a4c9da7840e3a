import { type EntityOf, integer, Table, text } from '../table.ts'

/** A value of an interval, which begins at `at` and has this width in milliseconds. */
export const activityTable = new Table({ width: integer, at: integer, name: text, value: integer })

export type ActivityEntry = EntityOf<typeof activityTable>
