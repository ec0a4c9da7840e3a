import { type Kysely, sql } from 'kysely'
import type { SweepRunRow } from '../administration-rows.ts'
import type { SweepRun, SweepRunQueries } from '../contract/sweep-runs.ts'
import { RowMapper } from '../row-mapper.ts'
import type { Schema } from '../schema.ts'

const mapper = new RowMapper<SweepRun, SweepRunRow>({
  name: 'name',
  startedAt: 'started_at',
  durationMs: 'duration_ms',
  items: 'items',
  error: 'error',
  failures: 'failures',
  failedAt: 'failed_at',
})

export class SqlSweepRunQueries implements SweepRunQueries {
  readonly #db: Kysely<Schema>

  constructor(db: Kysely<Schema>) {
    this.#db = db
  }

  async record(run: Pick<SweepRun, 'name' | 'startedAt' | 'durationMs' | 'items' | 'error'>) {
    const hasFailed = run.error !== null
    const { name, ...row } = mapper.toRow({
      ...run,
      failures: hasFailed ? 1 : 0,
      failedAt: hasFailed ? run.startedAt : null,
    })
    await this.#db
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

  async list() {
    return mapper.toEntities(await this.#db.selectFrom('sweep_runs').selectAll().orderBy('name').execute())
  }
}
