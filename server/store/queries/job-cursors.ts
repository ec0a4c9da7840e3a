import { QueryGroup } from './query-group.ts'

/** Where jobs that read long lists continue, so that a restart does not begin again. */
export class JobCursorQueries extends QueryGroup {
  async find(job: string): Promise<string | undefined> {
    const row = await this.db
      .selectFrom('job_cursors')
      .select('position')
      .where('job', '=', job)
      .executeTakeFirst()
    return row?.position
  }

  /** Undefined at the end of the list. */
  async set(job: string, position: string | undefined): Promise<void> {
    if (position === undefined) {
      await this.db.deleteFrom('job_cursors').where('job', '=', job).execute()
      return
    }
    await this.db
      .insertInto('job_cursors')
      .values({ job, position })
      .onConflict((c) => c.column('job').doUpdateSet({ position }))
      .execute()
  }
}
