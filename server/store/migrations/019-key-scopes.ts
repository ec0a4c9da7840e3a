import type { Kysely } from 'kysely'

/** Permissions, expiry and last use of named keys, and sign-ins of devices. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .alterTable('named_keys')
    .addColumn('scope', 'text', (c) => c.notNull().defaultTo('manage'))
    .execute()
  for (const column of ['sites', 'issued_by'])
    await schema.alterTable('named_keys').addColumn(column, 'text').execute()
  for (const column of ['expires_at', 'last_used_at'])
    await schema.alterTable('named_keys').addColumn(column, 'bigint').execute()
  await schema
    .createTable('device_sign_ins')
    .addColumn('device_hash', 'text', (c) => c.primaryKey())
    .addColumn('user_code_hash', 'text', (c) => c.notNull().unique())
    .addColumn('program', 'text', (c) => c.notNull())
    .addColumn('machine', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .addColumn('interval_ms', 'bigint', (c) => c.notNull())
    .addColumn('polled_at', 'bigint')
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('account_id', 'text')
    .execute()
  await schema.createIndex('device_sign_ins_by_expiry').on('device_sign_ins').column('expires_at').execute()
}

/** By which expired keys are found. */
export const expiringKeys = [
  { name: 'named_keys_expiring', on: 'named_keys (expires_at) where expires_at is not null' },
]
