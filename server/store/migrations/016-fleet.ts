import type { Kysely } from 'kysely'

/** What the nodes of a database have in common, and which nodes there are. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('shared_settings')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('fingerprint', 'text', (c) => c.notNull())
    .execute()
  await schema
    .createTable('nodes')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('host', 'text', (c) => c.notNull())
    .addColumn('release', 'text', (c) => c.notNull())
    .addColumn('started_at', 'bigint', (c) => c.notNull())
    .addColumn('seen_at', 'bigint', (c) => c.notNull())
    .addColumn('numbers', 'text', (c) => c.notNull())
    .execute()
}
