import type { Kysely } from 'kysely'

/** The state of OAuth: clients, authorizations, codes and tokens of programs. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('oauth_records')
    .addColumn('id_hash', 'text', (c) => c.primaryKey())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('grant_hash', 'text')
    .addColumn('account_id', 'text')
    .addColumn('payload', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .addColumn('consumed_at', 'bigint')
    .execute()
  await schema.createIndex('oauth_records_by_grant').on('oauth_records').column('grant_hash').execute()
  await schema
    .createIndex('oauth_records_by_account')
    .on('oauth_records')
    .columns(['account_id', 'kind', 'created_at'])
    .execute()
  await schema.createIndex('oauth_records_by_expiry').on('oauth_records').column('expires_at').execute()
}
