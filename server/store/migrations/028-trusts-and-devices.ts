import type { Kysely } from 'kysely'

/**
 * The file whose jobs a trust is for, and the index by which a renamed repository is found. Of a device that signs in the
 * network, and the scope that it asks for.
 */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('trusts').addColumn('workflow', 'text').execute()
  await schema
    .createIndex('trusts_by_repository_id')
    .on('trusts')
    .columns(['forge_repository_id', 'issuer', 'site', 'id'])
    .execute()
  // Of sign-ins that began before: they end after ten minutes.
  for (const [column, before] of [
    ['network', ''],
    ['scope', 'manage'],
  ] as const)
    await schema
      .alterTable('device_sign_ins')
      .addColumn(column, 'text', (c) => c.notNull().defaultTo(before))
      .execute()
}
