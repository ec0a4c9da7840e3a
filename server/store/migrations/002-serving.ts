import { type Kysely, sql } from 'kysely'

/** What finalize and the following work compute for a version, so that serving it needs no computation. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('versions').addColumn('rules', 'text').execute()
  await schema.alterTable('versions').addColumn('warnings', 'text').execute()
  await schema.alterTable('versions').addColumn('front', 'text').execute()
  await schema
    .alterTable('versions')
    .addColumn('encoded', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await schema
    .createIndex('versions_unencoded')
    .on('versions')
    .column('created_at')
    .where(sql<boolean>`state = 'ready' and encoded = 0`)
    .execute()
  await schema
    .createTable('encodings')
    .addColumn('hash', 'text', (c) => c.primaryKey())
    .addColumn('br', 'integer')
    .addColumn('zstd', 'integer')
    .addColumn('gzip', 'integer')
    .execute()
}
