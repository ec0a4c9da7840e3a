import type { Kysely } from 'kysely'
import type { Schema } from '../schema.ts'

/** Queries about one subject, of a transaction or for reads. */
export class QueryGroup {
  protected readonly db: Kysely<Schema>

  constructor(db: Kysely<Schema>) {
    this.db = db
  }
}
