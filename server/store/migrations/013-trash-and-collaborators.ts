import { type Kysely, sql } from 'kysely'

/** Deleted sites that are kept for a time, and the addresses of those who publish to a site beside its owner. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('sites').addColumn('kept_until', 'bigint').execute()
  await schema.alterTable('sites').addColumn('kept_domains', 'text').execute()
  await schema
    .createIndex('sites_kept')
    .on('sites')
    .column('kept_until')
    .where(sql<boolean>`kept_until is not null`)
    .execute()
  await schema
    .createTable('collaborators')
    .addColumn('slug', 'text', (c) => c.notNull())
    .addColumn('email', 'text', (c) => c.notNull())
    .addColumn('added_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('collaborators_primary', ['slug', 'email'])
    .execute()
  await schema.createIndex('collaborators_by_email').on('collaborators').column('email').execute()
}
