import { type Kysely, sql } from 'kysely'
import type { JobRunRow } from '../administration-rows.ts'
import type { JobRun, JobRunQueries } from '../contract/job-runs.ts'
import { RowMapper } from '../row-mapper.ts'
import type { Schema } from '../schema.ts'

const mapper = new RowMapper<JobRun, JobRunRow>({
  name: 'name',
  startedAt: 'started_at',
  durationMs: 'duration_ms',
  items: 'items',
  error: 'error',
  failures: 'failures',
  failedAt: 'failed_at',
})

export class SqlJobRunQueries implements JobRunQueries {
  readonly #db: Kysely<Schema>

  constructor(db: Kysely<Schema>) {
    this.#db = db
  }

  async record(run: Pick<JobRun, 'name' | 'startedAt' | 'durationMs' | 'items' | 'error'>) {
    const hasFailed = run.error !== null
    const { name, ...row } = mapper.toRow({
      ...run,
      failures: hasFailed ? 1 : 0,
      failedAt: hasFailed ? run.startedAt : null,
    })
    await this.#db
      .insertInto('job_runs')
      .values({ name, ...row })
      .onConflict((c) =>
        c.column('name').doUpdateSet({
          ...row,
          failures: hasFailed ? sql<number>`job_runs.failures + 1` : 0,
          failed_at: sql<number>`coalesce(excluded.failed_at, job_runs.failed_at)`,
        }),
      )
      .execute()
  }

  async list() {
    return mapper.toEntities(await this.#db.selectFrom('job_runs').selectAll().orderBy('name').execute())
  }
}
