import { migrations } from '../../server/store/migrate.ts'
import type { Migration } from '../../server/store/migration.ts'

export const LAST_KNOWN = migrations.at(-1)!.name

/** A step of a later release that adds a column. */
export const ADDS_COLUMN: Migration = {
  name: '901-adds-column',
  compatibleWith: LAST_KNOWN,
  up: async ({ schema }) => {
    await schema.alterTable('sites').addColumn('of_a_later_release', 'text').execute()
  },
}

/** A step of a later release that nodes of this one cannot run with. */
export const REMOVES_COLUMN: Migration = {
  name: '902-removes-column',
  compatibleWith: ADDS_COLUMN.name,
  up: async ({ schema }) => {
    await schema.alterTable('sites').dropColumn('of_a_later_release').execute()
  },
}
