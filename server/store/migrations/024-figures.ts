import { type Kysely, sql } from 'kysely'

/** What the lists and plots of administrators show: figures of sites, accounts and domains, activity, runs of sweeps. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('figures')
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('id', 'text', (c) => c.notNull())
    .addColumn('bytes', 'bigint', (c) => c.notNull())
    .addColumn('visits', 'bigint', (c) => c.notNull())
    .addColumn('sites', 'bigint', (c) => c.notNull())
    .addColumn('title', 'text')
    .addPrimaryKeyConstraint('figures_key', ['kind', 'id'])
    .execute()
  for (const column of ['bytes', 'visits'])
    await schema.createIndex(`figures_by_${column}`).on('figures').columns(['kind', column, 'id']).execute()
  await schema
    .createIndex('figures_by_title')
    .on('figures')
    .column('title')
    .where(sql.ref('title'), 'is not', null)
    .execute()
  await schema
    .createTable('activity')
    .addColumn('width', 'bigint', (c) => c.notNull())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('value', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('activity_key', ['width', 'at', 'name'])
    .execute()
  await schema
    .createTable('sweep_runs')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('started_at', 'bigint', (c) => c.notNull())
    .addColumn('duration_ms', 'bigint', (c) => c.notNull())
    .addColumn('items', 'bigint', (c) => c.notNull())
    .addColumn('error', 'text')
    .addColumn('failures', 'bigint', (c) => c.notNull())
    .addColumn('failed_at', 'bigint')
    .execute()
}

/** By which administrators list sites, accounts, domains and certificates. */
export const listIndexes = [
  { name: 'sites_present', on: 'sites (slug) where gone_at is null' },
  { name: 'sites_by_age', on: 'sites (created_at, slug) where gone_at is null' },
  { name: 'accounts_by_age', on: 'accounts (created_at, id)' },
  { name: 'domains_by_age', on: 'domains (created_at, domain, account_id)' },
  {
    name: 'certificates_by_expiry',
    on: 'certificates (coalesce(not_after, 0), name) where unused_since is null',
  },
]
