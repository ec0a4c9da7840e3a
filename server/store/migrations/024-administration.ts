import type { Kysely } from 'kysely'

/** Accounts that administer the service, and the log of their changes. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('accounts').addColumn('administrator_since', 'bigint').execute()
  await schema
    .createTable('audit_log')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .addColumn('actor_id', 'text')
    .addColumn('actor', 'text', (c) => c.notNull())
    .addColumn('network', 'text')
    .addColumn('action', 'text', (c) => c.notNull())
    .addColumn('target', 'text', (c) => c.notNull())
    .addColumn('details', 'text')
    .execute()
  await schema.createIndex('audit_log_by_time').on('audit_log').columns(['at', 'id']).execute()
  await schema.createIndex('audit_log_by_target').on('audit_log').columns(['target', 'at', 'id']).execute()
}

/** By which administrators are found. */
export const administrators = [
  {
    name: 'accounts_administrators',
    on: 'accounts (administrator_since) where administrator_since is not null',
  },
]
