import { HOUR_MS } from '../../lib/time.ts'
import { type EntityOf, integer, Table, text } from '../table.ts'

/** Requests of a caller within one window. */
export const counterTable = new Table({
  caller: text,
  /** See `counterWindow`. */
  windowStart: integer,
  requests: integer,
})

/** A window of a caller. */
export type CounterWindow = Omit<EntityOf<typeof counterTable>, 'requests'>

/** How long a window is kept after the beginning of its last hour, in milliseconds. */
export const COUNTER_RETENTION_MS = 2 * HOUR_MS

/**
 * The window of this length that contains `now`, named by the beginning of its last hour, so that the sweep keeps a window
 * of any length until it has ended.
 */
export function counterWindow(now: number, lengthMs: number): number {
  const start = Math.floor(now / lengthMs) * lengthMs
  return Math.max(start, start + lengthMs - HOUR_MS)
}
