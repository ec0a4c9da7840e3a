import { type Kysely, sql } from 'kysely'

/** Names that owners choose: former names redirect, and visits keep the key under which they are counted. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  for (const column of ['renamed_to', 'visits_key'])
    await schema.alterTable('sites').addColumn(column, 'text').execute()
  await sql`update sites set visits_key = slug`.execute(db)
  await schema.createIndex('sites_by_visits_key').on('sites').column('visits_key').execute()
  await schema
    .createIndex('sites_renamed')
    .on('sites')
    .column('renamed_to')
    .where(sql<boolean>`renamed_to is not null`)
    .execute()
}
