import type { Kysely } from 'kysely'

/** API keys beside the one of spec 2.5; an account has at most one of each name. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('named_keys')
    .addColumn('key_hash', 'text', (c) => c.primaryKey())
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addUniqueConstraint('named_keys_by_name', ['account_id', 'name'])
    .execute()
}
