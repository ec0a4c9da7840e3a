import { type Kysely, sql } from 'kysely'

/** Emails about events of an account, at most one for each event. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .alterTable('accounts')
    .addColumn('reminders', 'integer', (c) => c.notNull().defaultTo(1))
    .execute()
  await schema
    .createTable('notices')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('event', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('attempts', 'integer', (c) => c.notNull())
    .addColumn('due_at', 'bigint')
    .execute()
  await schema
    .createIndex('notices_due')
    .on('notices')
    .column('due_at')
    .where(sql<boolean>`due_at is not null`)
    .execute()
  await schema.createIndex('notices_by_account').on('notices').column('account_id').execute()
  await schema.createIndex('notices_by_time').on('notices').column('created_at').execute()
}
