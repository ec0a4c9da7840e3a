import type { Log } from '../../lib/log.ts'
import type { Store } from '../../store/store.ts'
import { BACKUP_RUN } from '../../store/tables/sweep-runs.ts'

/** Runs a backup and records its outcome, which the metrics of the service show. Lost files count as a failure. */
export async function recordRun<T extends { copiedFiles: number; damaged: readonly string[] }>(
  { store, log }: { store: Store; log: Log },
  backUp: () => Promise<T>,
): Promise<T> {
  const startedAt = store.clock()
  const record = (items: number, error: string | null) => {
    const run = { name: BACKUP_RUN, startedAt, durationMs: store.clock() - startedAt, items, error }
    return store
      .execute('relaxed', ({ sweepRuns }) => sweepRuns.record(run))
      .catch((cause: unknown) => log.warn('the run of the backup could not be recorded', { error: cause }))
  }
  try {
    const made = await backUp()
    const { damaged, copiedFiles } = made
    await record(copiedFiles, damaged.length === 0 ? null : `${damaged.length} files are lost or damaged`)
    return made
  } catch (error) {
    await record(0, (error as Error).message)
    throw error
  }
}
