import { type Kysely, sql } from 'kysely'

/** Columns by which jobs find what has expired, and by which blobs find their uploads. */
const INDEXES = [
  ['arrivals', 'hash'],
  ['counters', 'window_start'],
  ['sessions', 'expires_at'],
  ['sign_in_codes', 'expires_at'],
  ['acme_challenges', 'expires_at'],
  ['held_domains', 'until'],
] as const

/** Indexes for queries that read whole tables as these grow. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  for (const [table, column] of INDEXES)
    await schema.createIndex(`${table}_by_${column}`).on(table).column(column).execute()
  await schema
    .createIndex('certificates_unused')
    .on('certificates')
    .column('unused_since')
    .where(sql<boolean>`unused_since is not null`)
    .execute()
}
