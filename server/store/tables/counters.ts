import { HOUR_MS } from '../../lib/time.ts'
import { type EntityOf, integer, Table, text } from '../table.ts'

export const counterTable = new Table({ caller: text, windowStart: integer, requests: integer })

export type CounterWindow = Omit<EntityOf<typeof counterTable>, 'requests'>

/** How long a window is kept after the beginning of its last hour, in milliseconds. */
export const COUNTER_RETENTION_MS = 2 * HOUR_MS

/** Named by the beginning of its last hour, so that the sweep keeps a window of any length until it has ended. */
export function counterWindow(now: number, lengthMs: number): number {
  const start = Math.floor(now / lengthMs) * lengthMs
  return Math.max(start, start + lengthMs - HOUR_MS)
}
