import { HOUR_MS } from '../../lib/time.ts'
import { integer, Table, text } from '../table.ts'

/** Requests of a caller within one window. */
export const counterTable = new Table({
  caller: text,
  windowStart: integer,
  requests: integer,
})

/** A window of a caller. */
export interface CounterWindow {
  caller: string
  /** See `counterWindow`. */
  windowStart: number
}

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

/** Counters of callers by window; exact over all processes. */
export interface CounterQueries {
  /** Adds one to a caller's window and returns the count. */
  add(caller: string, windowStart: number): Promise<number>

  /** Adds one to each of these windows, which differ. */
  addEach(windows: readonly CounterWindow[]): Promise<void>

  /** Reverts one `add`; without one it changes nothing. */
  decrement(caller: string, windowStart: number): Promise<void>

  /** 0 when the window does not exist. */
  value(caller: string, windowStart: number): Promise<number>

  /** The counts of windows, in their order. */
  values(windows: readonly CounterWindow[]): Promise<number[]>

  /** Deletes every window of a caller. */
  delete(caller: string): Promise<void>

  /** Deletes up to `limit` windows with an earlier name, and returns their number. */
  deleteBefore(windowStart: number, limit: number): Promise<number>
}
