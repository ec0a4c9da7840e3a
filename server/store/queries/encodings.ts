import type { Kysely } from 'kysely'
import type { EncodingRow, Schema } from '../schema.ts'

export type Encodings = ReturnType<typeof encodingsOver>

const ROWS_AT_ONCE = 500

export function encodingsOver(db: Kysely<Schema>) {
  return {
    /** What is known of the encodings of the blobs that a site names. */
    ofSite: (slug: string): Promise<EncodingRow[]> =>
      db
        .selectFrom('encodings')
        .innerJoin('blob_names', 'blob_names.hash', 'encodings.hash')
        .selectAll('encodings')
        .where('blob_names.slug', '=', slug)
        .execute(),

    /** These encodings are kept beside their blobs from here on; what was recorded before stays. */
    async record(rows: readonly EncodingRow[]): Promise<void> {
      for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
        await db
          .insertInto('encodings')
          .values(rows.slice(at, at + ROWS_AT_ONCE))
          .onConflict((c) => c.doNothing())
          .execute()
      }
    },

    /** The encodings of these blobs go with them. */
    async forget(hashes: readonly string[]): Promise<void> {
      for (let at = 0; at < hashes.length; at += ROWS_AT_ONCE) {
        await db
          .deleteFrom('encodings')
          .where('hash', 'in', hashes.slice(at, at + ROWS_AT_ONCE))
          .execute()
      }
    },
  }
}
