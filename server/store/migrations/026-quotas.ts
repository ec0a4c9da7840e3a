import { type Kysely, sql } from 'kysely'

/**
 * What accounts, networks and all anonymous sites use, exceptions from plans, invitations, and what the operator has
 * set while the service runs.
 */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('usage')
    .addColumn('holder', 'text', (c) => c.primaryKey())
    .addColumn('bytes', 'bigint', (c) => c.notNull())
    .addColumn('sites', 'bigint', (c) => c.notNull())
    .addColumn('revision', 'bigint', (c) => c.notNull())
    .execute()
  await schema.alterTable('accounts').addColumn('limits', 'text').execute()
  await schema.alterTable('sites').addColumn('network', 'text').execute()
  await schema.alterTable('blob_names').addColumn('owner_id', 'text').execute()
  await schema
    .createTable('invitations')
    .addColumn('email', 'text', (c) => c.primaryKey())
    .addColumn('invited_by', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute()
  await schema.createIndex('invitations_by_expiry').on('invitations').column('expires_at').execute()
  await schema
    .createTable('operator_settings')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('value', 'text', (c) => c.notNull())
    .execute()
}

const SITES_PER_FILL = 500

/** Gives anonymous sites, all of which expire, the network without an address. */
export async function fillNetworks(db: Kysely<unknown>): Promise<boolean> {
  const { rows } = await sql`
    update sites set network = '' where slug in (
      select slug from sites where gone_at is null and expires_at is not null and owner_id is null and network is null
      limit ${sql.lit(SITES_PER_FILL)})
    returning slug`.execute(db)
  return rows.length < SITES_PER_FILL
}

/** By which the contents of a site are found, and another site of its owner with the same content. */
export const quotaIndexes = [
  { name: 'blobs_by_slug', on: 'blobs (slug) where slug is not null' },
  { name: 'blob_names_by_owner', on: 'blob_names (hash, owner_id) where owner_id is not null' },
  { name: 'sites_by_network', on: 'sites (network) where network is not null and gone_at is null' },
]
