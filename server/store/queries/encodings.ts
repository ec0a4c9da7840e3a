import type { Kysely } from 'kysely'
import type { EncodingRow, Schema } from '../schema.ts'

export type EncodingQueries = ReturnType<typeof encodingQueries>

const ROWS_PER_STATEMENT = 500

export function encodingQueries(db: Kysely<Schema>) {
  return {
    /** The encodings of the blobs that a site references. */
    ofSite: (slug: string): Promise<EncodingRow[]> =>
      db
        .selectFrom('encodings')
        .innerJoin('blob_names', 'blob_names.hash', 'encodings.hash')
        .selectAll('encodings')
        .where('blob_names.slug', '=', slug)
        .execute(),

    /** Records stored encodings; an existing row stays. */
    async record(rows: readonly EncodingRow[]): Promise<void> {
      for (let at = 0; at < rows.length; at += ROWS_PER_STATEMENT) {
        await db
          .insertInto('encodings')
          .values(rows.slice(at, at + ROWS_PER_STATEMENT))
          .onConflict((c) => c.doNothing())
          .execute()
      }
    },

    /** Deletes the rows of these blobs. */
    async delete(hashes: readonly string[]): Promise<void> {
      for (let at = 0; at < hashes.length; at += ROWS_PER_STATEMENT) {
        await db
          .deleteFrom('encodings')
          .where('hash', 'in', hashes.slice(at, at + ROWS_PER_STATEMENT))
          .execute()
      }
    },
  }
}
