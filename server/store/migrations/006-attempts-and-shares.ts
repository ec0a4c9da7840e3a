import { type Kysely, sql } from 'kysely'

/**
 * Sign-in codes that belong to an attempt, several of them for an address; what is known of the networks and browsers that
 * sign in; and on whose behalf a certificate was ordered.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .createTable('sign_in_codes')
    .addColumn('attempt_hash', 'text', (c) => c.primaryKey())
    .addColumn('email', 'text', (c) => c.notNull())
    .addColumn('network', 'text', (c) => c.notNull())
    .addColumn('code_hash', 'text', (c) => c.notNull())
    .addColumn('attempt_tries', 'integer', (c) => c.notNull())
    .addColumn('open_tries', 'integer', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute()
  await schema.createIndex('sign_in_codes_by_email').on('sign_in_codes').column('email').execute()
  await schema
    .createTable('sign_in_sources')
    .addColumn('email', 'text', (c) => c.notNull())
    .addColumn('source', 'text', (c) => c.notNull())
    .addColumn('signed_in_at', 'bigint')
    .addColumn('wrong_tries', 'integer', (c) => c.notNull())
    .addColumn('locked_until', 'bigint')
    .addColumn('changed_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('sign_in_sources_primary', ['email', 'source'])
    .execute()
  await schema.createIndex('sign_in_sources_by_time').on('sign_in_sources').column('changed_at').execute()
  // Codes that were sent shortly before the upgrade stay valid, and locks stay in force.
  await sql`insert into sign_in_codes select 'before ' || email, email, '', code_hash, wrong_tries, wrong_tries, expires_at
    from codes`.execute(db)
  await sql`insert into sign_in_sources select email, '', null, 0, locked_until, locked_until
    from sign_in_failures where locked_until is not null`.execute(db)
  await schema.dropTable('codes').execute()
  await schema.dropTable('sign_in_failures').execute()
  await schema.alterTable('acme_requests').addColumn('account_id', 'text').execute()
  await schema.alterTable('acme_requests').addColumn('root', 'text').execute()
  for (const share of ['account_id', 'root'])
    await schema
      .createIndex(`acme_requests_by_${share}`)
      .on('acme_requests')
      .columns(['kind', share, 'at'])
      .where(sql.ref(share), 'is not', null)
      .execute()
}
