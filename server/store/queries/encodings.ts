import type { Kysely } from 'kysely'
import type { BlobEncodings, EncodingQueries } from '../contract/encodings.ts'
import type { Schema } from '../schema.ts'
import { toBatches } from './batches.ts'

export class SqlEncodingQueries implements EncodingQueries {
  readonly #db: Kysely<Schema>

  constructor(db: Kysely<Schema>) {
    this.#db = db
  }

  ofSite(slug: string) {
    return this.#db
      .selectFrom('encodings')
      .innerJoin('blob_names', 'blob_names.hash', 'encodings.hash')
      .selectAll('encodings')
      .where('blob_names.slug', '=', slug)
      .execute()
  }

  async record(encodings: readonly BlobEncodings[]) {
    for (const batch of toBatches(encodings)) {
      await this.#db
        .insertInto('encodings')
        .values(batch)
        .onConflict((c) => c.doNothing())
        .execute()
    }
  }

  async delete(hashes: readonly string[]) {
    for (const batch of toBatches(hashes)) {
      await this.#db.deleteFrom('encodings').where('hash', 'in', batch).execute()
    }
  }
}
