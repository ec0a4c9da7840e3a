import type { Kysely } from 'kysely'

/** Tells versions with equal files apart from different ones; null for earlier versions, which count as different. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('versions').addColumn('content_hash', 'text').execute()
}
