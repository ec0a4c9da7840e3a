import { type Kysely, sql } from 'kysely'

/** State of the dashboard: the author of a version, signed-in browsers, visits. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  for (const column of ['published_by', 'published_with', 'look'])
    await schema.alterTable('versions').addColumn(column, 'text').execute()
  await schema.alterTable('sessions').addColumn('browser', 'text').execute()
  await schema.createIndex('sessions_by_account').on('sessions').column('account_id').execute()
  await schema.alterTable('accounts').addColumn('leaving_since', 'bigint').execute()
  await schema
    .createIndex('accounts_leaving')
    .on('accounts')
    .column('leaving_since')
    .where(sql<boolean>`leaving_since is not null`)
    .execute()
  await visits(db)
}

async function visits({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('visit_hours')
    .addColumn('slug', 'text', (c) => c.notNull())
    .addColumn('hour', 'bigint', (c) => c.notNull())
    .addColumn('requests', 'bigint', (c) => c.notNull())
    .addColumn('bytes', 'bigint', (c) => c.notNull())
    .addColumn('visitors', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('visit_hours_primary', ['slug', 'hour'])
    .execute()
  await schema
    .createTable('visit_names')
    .addColumn('slug', 'text', (c) => c.notNull())
    .addColumn('day', 'bigint', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('requests', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('visit_names_primary', ['slug', 'day', 'kind', 'name'])
    .execute()
  await schema
    .createTable('visitors')
    .addColumn('slug', 'text', (c) => c.notNull())
    .addColumn('day', 'bigint', (c) => c.notNull())
    .addColumn('visitor', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('visitors_primary', ['slug', 'day', 'visitor'])
    .execute()
  await schema
    .createTable('visit_salts')
    .addColumn('day', 'bigint', (c) => c.primaryKey())
    .addColumn('salt', 'text', (c) => c.notNull())
    .execute()
  await schema.createIndex('visit_hours_by_time').on('visit_hours').column('hour').execute()
  await schema.createIndex('visit_names_by_time').on('visit_names').columns(['day', 'slug']).execute()
  await schema.createIndex('visitors_by_time').on('visitors').column('day').execute()
}
