import type { Kysely } from 'kysely'

/** The file whose jobs a trust is for; and the index by which a renamed repository is found. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('trusts').addColumn('workflow', 'text').execute()
  await schema
    .createIndex('trusts_by_repository_id')
    .on('trusts')
    .columns(['forge_repository_id', 'issuer', 'site', 'id'])
    .execute()
}
