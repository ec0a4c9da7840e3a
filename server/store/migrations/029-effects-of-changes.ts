import type { Kysely } from 'kysely'

/** What a change means for the caches of other processes. A process of the release before reads and writes none. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .alterTable('changes')
    .addColumn('effect', 'text', (c) => c.notNull().defaultTo('withdrawn'))
    .execute()
}
