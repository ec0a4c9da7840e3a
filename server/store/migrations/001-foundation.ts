import { type Kysely, sql } from 'kysely'
import type { EngineName } from '../schema.ts'

/** All tables of the first release. */
export async function up(db: Kysely<unknown>, engine: EngineName): Promise<void> {
  const { schema } = db
  await schema
    .createTable('accounts')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('email', 'text', (c) => c.notNull().unique())
    .addColumn('plan', 'text', (c) => c.notNull())
    .addColumn('key_hash', 'text', (c) => c.unique())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute()
  await schema
    .createTable('codes')
    .addColumn('email', 'text', (c) => c.primaryKey())
    .addColumn('code_hash', 'text', (c) => c.notNull())
    .addColumn('wrong_tries', 'integer', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute()
  await schema
    .createTable('sign_in_failures')
    .addColumn('email', 'text', (c) => c.primaryKey())
    .addColumn('wrong_tries', 'integer', (c) => c.notNull())
    .addColumn('locked_until', 'bigint')
    .execute()
  await schema
    .createTable('sessions')
    .addColumn('token_hash', 'text', (c) => c.primaryKey())
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute()
  await sitesAndVersions(db)
  await blobs(db)
  await schema
    .createTable('domains')
    .addColumn('domain', 'text', (c) => c.notNull())
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('slug', 'text', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('proof', 'text', (c) => c.notNull())
    .addColumn('reason', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('verified_at', 'bigint')
    .addColumn('checked_at', 'bigint')
    .addPrimaryKeyConstraint('domains_primary', ['domain', 'account_id'])
    .execute()
  await schema.createIndex('domains_by_account').on('domains').columns(['account_id', 'created_at']).execute()
  await schema.createIndex('domains_by_slug').on('domains').column('slug').execute()
  await schema
    .createIndex('domains_active_once')
    .unique()
    .on('domains')
    .column('domain')
    .where(sql<boolean>`status = 'active'`)
    .execute()
  await coordination(db)
  await (engine === 'postgres' ? snapshotChanges(db) : numberedChanges(db))
}

async function sitesAndVersions({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('sites')
    .addColumn('slug', 'text', (c) => c.primaryKey())
    .addColumn('owner_id', 'text')
    .addColumn('claim_token_hash', 'text')
    .addColumn('live_version_id', 'text')
    .addColumn('previous_version_id', 'text')
    .addColumn('live_since', 'bigint')
    .addColumn('title', 'text')
    .addColumn('description', 'text')
    .addColumn('og_image_path', 'text')
    .addColumn('spa_mode', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('password_hash', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .addColumn('expires_at', 'bigint')
    .addColumn('gone_at', 'bigint')
    .addColumn('gone_reason', 'text')
    .execute()
  await schema.createIndex('sites_by_owner').on('sites').columns(['owner_id', 'created_at', 'slug']).execute()
  await schema
    .createIndex('sites_by_expiry')
    .on('sites')
    .column('expires_at')
    .where(sql<boolean>`gone_at is null and expires_at is not null`)
    .execute()
  await schema
    .createIndex('sites_never_live')
    .on('sites')
    .column('created_at')
    .where(sql<boolean>`gone_at is null and live_version_id is null`)
    .execute()
  await schema.createIndex('sites_by_change').on('sites').column('updated_at').execute()
  await schema
    .createTable('versions')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('slug', 'text', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('file_count', 'integer', (c) => c.notNull())
    .addColumn('total_bytes', 'bigint', (c) => c.notNull())
    .addColumn('base_version_id', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('published_at', 'bigint')
    .addColumn('viewer', 'text', (c) => c.notNull())
    .addColumn('files', 'text', (c) => c.notNull())
    .execute()
  await schema.createIndex('versions_by_slug').on('versions').columns(['slug', 'id']).execute()
  await schema
    .createIndex('versions_pending')
    .on('versions')
    .column('created_at')
    .where(sql<boolean>`state = 'pending'`)
    .execute()
}

async function blobs({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('arrivals')
    .addColumn('version_id', 'text', (c) => c.notNull())
    .addColumn('file_number', 'integer', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull())
    .addColumn('size', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('arrivals_primary', ['version_id', 'file_number'])
    .execute()
  await schema
    .createTable('blob_names')
    .addColumn('slug', 'text', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('blob_names_primary', ['slug', 'hash'])
    .execute()
  await schema.createIndex('blob_names_by_hash').on('blob_names').column('hash').execute()
  await schema
    .createTable('condemned_blobs')
    .addColumn('hash', 'text', (c) => c.primaryKey())
    .addColumn('since', 'bigint', (c) => c.notNull())
    .execute()
  await schema.createIndex('condemned_by_time').on('condemned_blobs').column('since').execute()
}

async function coordination({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('counters')
    .addColumn('caller', 'text', (c) => c.notNull())
    .addColumn('window_start', 'bigint', (c) => c.notNull())
    .addColumn('requests', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('counters_primary', ['caller', 'window_start'])
    .execute()
  await schema
    .createTable('leases')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('holder', 'text', (c) => c.notNull())
    .addColumn('fence', 'bigint', (c) => c.notNull())
    .addColumn('until', 'bigint', (c) => c.notNull())
    .execute()
}

async function numberedChanges({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('changes')
    .addColumn('seq', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('slug', 'text', (c) => c.notNull())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .execute()
}

/** See `postgres/change-feed.ts`. */
async function snapshotChanges(db: Kysely<unknown>): Promise<void> {
  await sql`create table changes (
    xid xid8 not null default pg_current_xact_id(),
    name text not null,
    at timestamptz not null default clock_timestamp())`.execute(db)
  await sql`create index changes_by_xid on changes (xid)`.execute(db)
  await sql`create index changes_by_time on changes (at)`.execute(db)
  // All changes up to this transaction may have been deleted.
  await sql`create table changes_trimmed (
    only_row boolean primary key default true check (only_row),
    xid xid8 not null)`.execute(db)
  await sql`insert into changes_trimmed (xid) values ('0')`.execute(db)
  // Crash recovery and promotion empty an unlogged table; after both, ids of transactions may be given out again.
  await sql`create unlogged table feed_epoch (
    only_row boolean primary key default true check (only_row),
    id uuid not null)`.execute(db)
}
