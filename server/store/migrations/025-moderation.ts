import type { Kysely } from 'kysely'

/** Suspensions of sites and accounts, blocked networks and files, reports by visitors, and accepted contents. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('sites').addColumn('suspension', 'text').execute()
  await schema.alterTable('accounts').addColumn('suspension', 'text').execute()
  await schema
    .createTable('blocks')
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('value', 'text', (c) => c.notNull())
    .addColumn('reason', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('expires_at', 'bigint')
    .addPrimaryKeyConstraint('blocks_primary', ['kind', 'value'])
    .execute()
  await schema.createIndex('blocks_by_expiry').on('blocks').column('expires_at').execute()
  await schema
    .createTable('reports')
    .addColumn('site', 'text', (c) => c.primaryKey())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('count', 'integer', (c) => c.notNull())
    .addColumn('first_at', 'bigint', (c) => c.notNull())
    .addColumn('last_at', 'bigint', (c) => c.notNull())
    .addColumn('decided_at', 'bigint')
    .addColumn('latest', 'text', (c) => c.notNull())
    .addColumn('mailed_count', 'integer', (c) => c.notNull())
    .addColumn('mailed_at', 'bigint')
    .execute()
  await schema.createIndex('reports_by_state').on('reports').columns(['state', 'last_at', 'site']).execute()
  await schema.createIndex('reports_by_time').on('reports').column('last_at').execute()
  await schema
    .createTable('accepted_scans')
    .addColumn('hash', 'text', (c) => c.notNull())
    .addColumn('scanner', 'text', (c) => c.notNull())
    .addColumn('accepted_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('accepted_scans_primary', ['hash', 'scanner'])
    .execute()
  await schema.createIndex('accepted_scans_by_time').on('accepted_scans').column('accepted_at').execute()
}

/** By which operators list what is suspended, and a job finds reports that the operator was not notified of. */
export const moderationIndexes = [
  { name: 'sites_suspended', on: 'sites (created_at, slug) where suspension is not null' },
  { name: 'reports_unmailed', on: "reports (last_at) where state = 'open' and count > mailed_count" },
]
