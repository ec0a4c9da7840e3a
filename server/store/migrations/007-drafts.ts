import { type Kysely, sql } from 'kysely'

/** Finds drafts by their age. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('versions_drafts')
    .on('versions')
    .column('created_at')
    .where(sql<boolean>`state = 'ready' and published_at is null`)
    .execute()
}
