import type { Kysely } from 'kysely'

/** Repositories whose jobs get keys without a stored secret, and the tokens that they have exchanged. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('trusts')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('forge', 'text', (c) => c.notNull())
    .addColumn('issuer', 'text', (c) => c.notNull())
    .addColumn('repository', 'text', (c) => c.notNull())
    .addColumn('forge_repository_id', 'text')
    .addColumn('site', 'text', (c) => c.notNull())
    .addColumn('scope', 'text', (c) => c.notNull())
    .addColumn('branch', 'text')
    .addColumn('tag', 'text')
    .addColumn('environment', 'text')
    .addColumn('pull_requests', 'integer', (c) => c.notNull())
    .addColumn('last_used_at', 'bigint')
    .execute()
  await schema.createIndex('trusts_by_account').on('trusts').columns(['account_id', 'id']).execute()
  await schema
    .createIndex('trusts_by_repository')
    .on('trusts')
    .columns(['repository', 'issuer', 'site', 'id'])
    .execute()
  await schema
    .createTable('used_tokens')
    .addColumn('token_hash', 'text', (c) => c.primaryKey())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute()
  await schema.createIndex('used_tokens_by_expiry').on('used_tokens').column('expires_at').execute()
}
