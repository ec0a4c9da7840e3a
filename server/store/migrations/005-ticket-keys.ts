import type { Kysely } from 'kysely'

/** Random keys of TLS session tickets, sealed, which all processes share. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('ticket_keys')
    .addColumn('period', 'bigint', (c) => c.primaryKey())
    .addColumn('key', 'text', (c) => c.notNull())
    .execute()
}
