import { type EntityOf, integer, nullable, Table, text } from '../table.ts'

/** The name of the runs of `slipway-server backup`, which are recorded with those of sweeps. */
export const BACKUP_RUN = 'backup'

/** The last run of a sweep, over all processes. */
export const sweepRunTable = new Table({
  name: text,
  startedAt: integer,
  durationMs: integer,
  /** What it affected; 0 after a failure. */
  items: integer,
  /** The message of the failure; null after a success. */
  error: nullable(text),
  /** Failures in a row. */
  failures: integer,
  /** The last failure; null before the first one. */
  failedAt: nullable(integer),
})

export type SweepRun = EntityOf<typeof sweepRunTable>
