import type { Kysely } from 'kysely'

/** Claims of domains to check, visitors of a day over all nodes, and the number of files that a version changes. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('domains').addColumn('checking_until', 'bigint').execute()
  await schema
    .alterTable('visit_salts')
    .addColumn('visitors', 'bigint', (c) => c.notNull().defaultTo(0))
    .execute()
  await schema.alterTable('versions').addColumn('changes', 'text').execute()
}

/** Each page of a list of sites reads only its own rows. */
export const pagesOfSites = [
  { name: 'sites_listed', on: 'sites (owner_id, created_at, slug) where gone_at is null' },
  { name: 'sites_in_trash', on: 'sites (owner_id, gone_at, slug) where kept_until is not null' },
  { name: 'sites_given_up', on: "sites (owner_id, gone_at) where gone_reason = 'renamed'" },
]
