import { sql } from '#kysely'
import { QueryGroup } from '../rows.ts'
import { type SweepRun, sweepRunTable } from '../tables/jobs.ts'

/** Where jobs that read long lists continue, so that a restart does not begin again. */
export class JobCursorQueries extends QueryGroup {
  readonly #rows = this.rows('job_cursors')

  async find(job: string): Promise<string | undefined> {
    return (await this.#rows.find({ job }))?.position
  }

  /** Undefined at the end of the list. */
  async set(job: string, position: string | undefined): Promise<void> {
    if (position === undefined) await this.#rows.remove({ job })
    else await this.#rows.put({ job, position })
  }
}

export class SweepRunQueries extends QueryGroup {
  /** Stores a run in place of the earlier one of the sweep, and counts its failures in a row. */
  async record(run: Pick<SweepRun, 'name' | 'startedAt' | 'durationMs' | 'items' | 'error'>): Promise<void> {
    const hasFailed = run.error !== null
    const { name, ...row } = sweepRunTable.toRow({
      ...run,
      failures: hasFailed ? 1 : 0,
      failedAt: hasFailed ? run.startedAt : null,
    })
    await this.db
      .insertInto('sweep_runs')
      .values({ name, ...row })
      .onConflict((c) =>
        c.column('name').doUpdateSet({
          ...row,
          failures: hasFailed ? sql<number>`sweep_runs.failures + 1` : 0,
          failed_at: sql<number>`coalesce(excluded.failed_at, sweep_runs.failed_at)`,
        }),
      )
      .execute()
  }

  list(): Promise<SweepRun[]> {
    return this.rows('sweep_runs').list({}, 'name')
  }
}
