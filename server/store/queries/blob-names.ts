import { type Kysely, sql } from 'kysely'
import type { Schema } from '../schema.ts'

export type BlobNames = ReturnType<typeof blobNamesOver>

const ROWS_AT_ONCE = 500

export function blobNamesOver(db: Kysely<Schema>) {
  const pieces = (hashes: readonly string[]) =>
    Array.from({ length: Math.ceil(hashes.length / ROWS_AT_ONCE) }, (_, index) =>
      hashes.slice(index * ROWS_AT_ONCE, (index + 1) * ROWS_AT_ONCE),
    )

  return {
    /** The site names these blobs from here on; naming one twice changes nothing. */
    async name(slug: string, hashes: Iterable<string>): Promise<void> {
      for (const piece of pieces([...new Set(hashes)])) {
        await db
          .insertInto('blob_names')
          .values(piece.map((hash) => ({ slug, hash })))
          .onConflict((c) => c.doNothing())
          .execute()
      }
    },

    async of(slug: string): Promise<string[]> {
      const rows = await db.selectFrom('blob_names').select('hash').where('slug', '=', slug).execute()
      return rows.map((row) => row.hash)
    },

    /** The site no longer names these; those that nobody else names are condemned, with their grace time anew. */
    async unname(slug: string, hashes: readonly string[], now: number): Promise<void> {
      for (const piece of pieces(hashes)) {
        await db.deleteFrom('blob_names').where('slug', '=', slug).where('hash', 'in', piece).execute()
      }
      const unnamed = await this.unnamedAmong(hashes)
      await this.pardon(unnamed)
      await this.condemn(unnamed, now)
    },

    /** Which of these hashes no site names, and no pending version waits to name. */
    async unnamedAmong(hashes: readonly string[]): Promise<string[]> {
      const unnamed: string[] = []
      for (const piece of pieces(hashes)) {
        const names = await db
          .selectFrom('blob_names')
          .select('hash')
          .distinct()
          .where('hash', 'in', piece)
          .execute()
        const coming = await db
          .selectFrom('arrivals')
          .select('hash')
          .distinct()
          .where('hash', 'in', piece)
          .execute()
        const named = new Set([...names, ...coming].map((row) => row.hash))
        unnamed.push(...piece.filter((hash) => !named.has(hash)))
      }
      return unnamed
    },

    /** Marks blobs for deletion from `now` on; the first mark stays. Answers how many had none yet. */
    async condemn(hashes: readonly string[], now: number): Promise<number> {
      let marked = 0
      for (const piece of pieces(hashes)) {
        const { numInsertedOrUpdatedRows } = await db
          .insertInto('condemned_blobs')
          .values(piece.map((hash) => ({ hash, since: now })))
          .onConflict((c) => c.doNothing())
          .executeTakeFirst()
        marked += Number(numInsertedOrUpdatedRows)
      }
      return marked
    },

    /** Blobs condemned before `before`, oldest first. */
    async condemned(before: number, limit: number): Promise<string[]> {
      const rows = await db
        .selectFrom('condemned_blobs')
        .select('hash')
        .where('since', '<=', before)
        .orderBy('since')
        .limit(limit)
        .execute()
      return rows.map((row) => row.hash)
    },

    async pardon(hashes: readonly string[]): Promise<void> {
      for (const piece of pieces(hashes)) {
        await db.deleteFrom('condemned_blobs').where('hash', 'in', piece).execute()
      }
    },

    count: async (): Promise<number> => {
      const row = await db
        .selectFrom('blob_names')
        .select(sql<number>`count(distinct hash)`.as('blobs'))
        .executeTakeFirstOrThrow()
      return Number(row.blobs)
    },
  }
}
