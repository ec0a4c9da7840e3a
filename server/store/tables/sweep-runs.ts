import { type EntityOf, integer, nullable, Table, text } from '../table.ts'

/** The name of the runs of `slipway-server backup`, which are recorded with those of sweeps. */
export const BACKUP_RUN = 'backup'

export const sweepRunTable = new Table({
  name: text,
  startedAt: integer,
  durationMs: integer,
  /** What it affected; 0 after a failure. */
  items: integer,
  error: nullable(text),
  /** Failures in a row. */
  failures: integer,
  failedAt: nullable(integer),
})

export type SweepRun = EntityOf<typeof sweepRunTable>
