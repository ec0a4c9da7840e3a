import type { Kysely } from 'kysely'

/** Titles, messages and thumbnails of versions. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  for (const column of ['title', 'message', 'thumbnail_hash'])
    await schema.alterTable('versions').addColumn(column, 'text').execute()
  await schema
    .createTable('thumbnails')
    .addColumn('version_id', 'text', (c) => c.primaryKey())
    .addColumn('picture', 'text', (c) => c.notNull())
    .execute()
}
