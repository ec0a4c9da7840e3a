import { type Kysely, sql } from 'kysely'

/**
 * Verification tokens of domains, their certificates, and the state that every node needs to request and
 * renew them.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await domains(db)
  await certificates(db)
  await authorities(db)
}

async function domains(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  for (const column of ['primary_domain', 'found'])
    await schema.alterTable('domains').addColumn(column, 'text').execute()
  for (const column of ['pending_since', 'proven_since', 'failing_since', 'next_check_at'])
    await schema.alterTable('domains').addColumn(column, 'bigint').execute()
  await schema
    .alterTable('domains')
    .addColumn('slow', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await lookUpWaiting(db)
  await schema
    .createIndex('domains_by_check')
    .on('domains')
    .columns(['slow', 'next_check_at'])
    .where(sql<boolean>`next_check_at is not null`)
    .execute()
  await schema
    .createTable('held_domains')
    .addColumn('domain', 'text', (c) => c.primaryKey())
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('proof', 'text', (c) => c.notNull())
    .addColumn('until', 'bigint', (c) => c.notNull())
    .execute()
  await schema.createIndex('held_domains_by_account').on('held_domains').column('account_id').execute()
}

/**
 * Before this release pending domains were not checked: they are checked as if they had waited for an hour.
 */
async function lookUpWaiting(db: Kysely<unknown>): Promise<void> {
  const since = Date.now() - 3_600_000
  await sql`update domains set pending_since = ${since}, next_check_at = ${since}`.execute(db)
}

async function certificates({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('certificates')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('chain', 'text')
    .addColumn('key', 'text')
    .addColumn('not_before', 'bigint')
    .addColumn('not_after', 'bigint')
    .addColumn('issued_at', 'bigint')
    .addColumn('certificate_id', 'text')
    .addColumn('informed', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('renew_at', 'bigint')
    .addColumn('information_at', 'bigint')
    .addColumn('order_url', 'text')
    .addColumn('order_key', 'text')
    .addColumn('proof_type', 'text')
    .addColumn('failures', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('problem', 'text')
    .addColumn('due_at', 'bigint')
    .addColumn('unused_since', 'bigint')
    .execute()
  await schema
    .createIndex('certificates_due')
    .on('certificates')
    .column('due_at')
    .where(sql<boolean>`due_at is not null`)
    .execute()
}

async function authorities({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('acme_accounts')
    .addColumn('directory', 'text', (c) => c.primaryKey())
    .addColumn('key', 'text', (c) => c.notNull())
    .addColumn('url', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute()
  await schema
    .createTable('acme_challenges')
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('token', 'text', (c) => c.notNull())
    .addColumn('key_authorization', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('acme_challenges_primary', ['type', 'name', 'token'])
    .execute()
  await schema
    .createTable('acme_requests')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('names', 'text', (c) => c.notNull())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .execute()
  await schema
    .createIndex('acme_requests_by_names')
    .on('acme_requests')
    .columns(['kind', 'names', 'at'])
    .execute()
  await schema.createIndex('acme_requests_by_time').on('acme_requests').columns(['kind', 'at']).execute()
}
