import { MINUTE_MS } from '../../lib/time.ts'
import { type EntityOf, integer, Table, text } from '../table.ts'

/** The lease of a running backup: files that its copy of the database names must stay. */
export const BACKUP_LEASE = 'backup'

/** For how long a backup that crashed still keeps unreferenced files. */
export const BACKUP_LEASE_MS = 10 * MINUTE_MS

/** By how much the clocks of processes may differ: a lease of one whose clock is ahead by less counts. */
export const CLOCK_TOLERANCE_MS = 10 * MINUTE_MS

/** A lease. Its fencing token grows with every new holder. */
export const leaseTable = new Table({
  name: text,
  holder: text,
  fence: integer,
  /** Milliseconds since 1970. */
  until: integer,
})

export type Lease = EntityOf<typeof leaseTable>

/**
 * Leases with fencing tokens. At most one process holds a lease at a time, by the clock of the store. `latest` is the last
 * end that a lease of that name can have now: one that is later by more than `CLOCK_TOLERANCE_MS` was set while the clock
 * was ahead, and does not count, because nothing would run until then.
 */
export interface LeaseQueries {
  /**
   * Takes the lease until `until`, which is also `latest`, when it is free, expired, or the holder's own. Returns the
   * fencing token, or undefined when another process holds it.
   */
  acquire(name: string, holder: string, now: number, until: number): Promise<number | undefined>

  /** As `acquire`, but returns the lease, also that of another holder. One statement. */
  acquireOrFind(lease: Omit<Lease, 'fence'>, now: number, latest: number): Promise<Lease>

  /**
   * Sets the end of a lease; false when the holder of that fencing token does not have it any more. Within a write no
   * other process can acquire it before the write ends.
   */
  extend(lease: Lease): Promise<boolean>

  /** Releases a lease. Idempotent; another holder's stays. */
  release(name: string, holder: string): Promise<void>

  /** Whether any process holds the lease. */
  isTaken(name: string, now: number, latest: number): Promise<boolean>

  /** Whether the holder of that fencing token still has the lease. */
  isHeld(name: string, holder: string, fence: number): Promise<boolean>
}
