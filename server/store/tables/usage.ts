import { HOUR_MS } from '../../lib/time.ts'
import { type EntityOf, integer, key, Table, text } from '../table.ts'

/** What an account, a network or all anonymous sites hold. `revision` grows with each change. */
export const usageTable = new Table({ holder: key(text), bytes: integer, sites: integer, revision: integer })

export interface Holding {
  /** Each content once, and the declared bytes of uploads that are not finalized. */
  bytes: number
  /** Sites that are not deleted, and those in the trash. */
  sites: number
}

export const ANONYMOUS = 'anonymous'

export function accountHolder(accountId: string): string {
  return `account:${accountId}`
}

/** The holder of the sites without an owner that were published from a network; by its keyed hash. */
export function networkHolder(network: string): string {
  return `network:${network}`
}

export const counterTable = new Table({ caller: key(text), windowStart: key(integer), requests: integer })

export type CounterWindow = Omit<EntityOf<typeof counterTable>, 'requests'>

/** How long a window is kept after the beginning of its last hour, in milliseconds. */
export const COUNTER_RETENTION_MS = 2 * HOUR_MS

/** Named by the beginning of its last hour, so that the sweep keeps a window of any length until it has ended. */
export function counterWindow(now: number, lengthMs: number): number {
  const start = Math.floor(now / lengthMs) * lengthMs
  return Math.max(start, start + lengthMs - HOUR_MS)
}
