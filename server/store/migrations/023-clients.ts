import type { Kysely } from 'kysely'

/** The program that published a version. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('versions').addColumn('published_client', 'text').execute()
}
