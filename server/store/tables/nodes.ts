import { MINUTE_MS } from '../../lib/time.ts'
import { type EntityOf, integer, json, key, Table, text } from '../table.ts'

/** A process that serves, as it last reported itself. */
export const nodeTable = new Table({
  id: key(text),
  /** Name of its machine and its port. */
  host: text,
  release: text,
  startedAt: integer,
  seenAt: integer,
  /** Metrics and gauges by their names; see `server/lib/metrics.ts`. */
  numbers: json<Readonly<Record<string, number>>>(),
})

export type NodeReport = EntityOf<typeof nodeTable>

export const sharedSettingTable = new Table({ name: key(text), fingerprint: text })

export type SharedSetting = EntityOf<typeof sharedSettingTable>

/** The lease of a running backup: files that its copy of the database names must stay. */
export const BACKUP_LEASE = 'backup'

/** For how long a backup that crashed still keeps unreferenced files. */
export const BACKUP_LEASE_MS = 10 * MINUTE_MS

/** By how much the clocks of processes may differ: a lease of one whose clock is ahead by less counts. */
export const CLOCK_TOLERANCE_MS = 10 * MINUTE_MS

/** A lease. Its fencing token grows with every new holder. */
export const leaseTable = new Table({ name: key(text), holder: text, fence: integer, until: integer })

export type Lease = EntityOf<typeof leaseTable>
