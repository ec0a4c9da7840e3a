/** The name of the runs of `slipway-server backup`, which are recorded with those of sweeps. */
export const BACKUP_RUN = 'backup'

/** The last run of a sweep, over all processes. */
export interface SweepRun {
  name: string
  startedAt: number
  durationMs: number
  /** What it affected; 0 after a failure. */
  items: number
  /** The message of the failure; null after a success. */
  error: string | null
  /** Failures in a row. */
  failures: number
  /** The last failure; null before the first one. */
  failedAt: number | null
}

export interface SweepRunQueries {
  /** Stores a run in place of the earlier one of the sweep, and counts its failures in a row. */
  record(run: Pick<SweepRun, 'name' | 'startedAt' | 'durationMs' | 'items' | 'error'>): Promise<void>

  list(): Promise<SweepRun[]>
}
