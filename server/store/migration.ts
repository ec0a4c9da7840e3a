import type { Kysely } from 'kysely'
import type { EngineName } from './schema.ts'

export interface LargeIndex {
  name: string
  /** The table, the columns and a condition, if any, as in `create index … on`. */
  on: string
  unique?: true
}

/** Nodes of the release before run beside a step, so that it only adds: CONTRIBUTING.md has the rules. */
export type Migration = {
  name: string
  /** The oldest migration that a release must know to run with this step; by default this step itself. */
  compatibleWith?: string
} & (
  | {
      /** Changes the schema, in one transaction. It locks the tables that it alters, so that it must be short. */
      up: (db: Kysely<unknown>, engine: EngineName) => Promise<void>
    }
  | {
      /** Changes a limited number of rows, in one transaction; true when none are left. Repeated until then. */
      fill: (db: Kysely<unknown>, engine: EngineName) => Promise<boolean>
    }
  | {
      /** PostgreSQL builds them while other nodes write. */
      indexes: readonly LargeIndex[]
    }
)
