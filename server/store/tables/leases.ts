import { MINUTE_MS } from '../../lib/time.ts'
import { type EntityOf, integer, Table, text } from '../table.ts'

/** The lease of a running backup: files that its copy of the database names must stay. */
export const BACKUP_LEASE = 'backup'

/** For how long a backup that crashed still keeps unreferenced files. */
export const BACKUP_LEASE_MS = 10 * MINUTE_MS

/** By how much the clocks of processes may differ: a lease of one whose clock is ahead by less counts. */
export const CLOCK_TOLERANCE_MS = 10 * MINUTE_MS

/** A lease. Its fencing token grows with every new holder. */
export const leaseTable = new Table({ name: text, holder: text, fence: integer, until: integer })

export type Lease = EntityOf<typeof leaseTable>
