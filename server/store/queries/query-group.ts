import type { DeleteResult, Kysely, UpdateResult } from 'kysely'
import type { Schema } from '../schema.ts'

/** Queries about one subject, of a transaction or for reads. */
export class QueryGroup {
  protected readonly db: Kysely<Schema>

  constructor(db: Kysely<Schema>) {
    this.db = db
  }
}

interface Change<Result> {
  executeTakeFirstOrThrow(): Promise<Result>
}

/** Executes a deletion; returns the number of rows. */
export async function countDeleted(deletion: Change<DeleteResult>): Promise<number> {
  return Number((await deletion.executeTakeFirstOrThrow()).numDeletedRows)
}

/** Executes a deletion; returns whether there was a row. */
export async function hasDeleted(deletion: Change<DeleteResult>): Promise<boolean> {
  return (await countDeleted(deletion)) > 0
}

/** Executes an update; returns whether there was a row. */
export async function hasUpdated(update: Change<UpdateResult>): Promise<boolean> {
  return (await update.executeTakeFirstOrThrow()).numUpdatedRows > 0n
}

/** Rows of one statement: below every engine's limit of parameters. */
const ROWS_PER_STATEMENT = 500

export function toBatches<T>(all: readonly T[], size = ROWS_PER_STATEMENT): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  )
}
