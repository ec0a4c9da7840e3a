import type { Kysely } from 'kysely'

/** The name of a version that is a preview, when the name ends, and whether open pages of it reload. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('versions').addColumn('preview_name', 'text').execute()
  await schema.alterTable('versions').addColumn('preview_until', 'bigint').execute()
  await schema.alterTable('versions').addColumn('live_reload', 'integer').execute()
}

/** By which visits find a preview, and jobs those that have expired. */
export const previewIndexes = [
  { name: 'versions_previews', on: 'versions (slug, preview_name, id) where preview_name is not null' },
  { name: 'versions_preview_until', on: 'versions (preview_until) where preview_until is not null' },
]
