import { type EntityOf, integer, key, nullable, Table, text } from '../table.ts'

export const jobCursorTable = new Table({ job: key(text), position: text })

/** The cursor that the target of a move has until all data are there: no service may start on it. */
export const UNFINISHED_MOVE = 'move'

/** The name of the runs of `slipway-server backup`, which are recorded with those of sweeps. */
export const BACKUP_RUN = 'backup'

export const sweepRunTable = new Table({
  name: key(text),
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
