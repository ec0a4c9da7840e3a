import { type Kysely, sql } from 'kysely'
import type { Schema } from '../schema.ts'

export type BlobReferenceQueries = ReturnType<typeof blobReferenceQueries>

const ROWS_PER_STATEMENT = 500

export function blobReferenceQueries(db: Kysely<Schema>) {
  const pieces = (hashes: readonly string[]) =>
    Array.from({ length: Math.ceil(hashes.length / ROWS_PER_STATEMENT) }, (_, index) =>
      hashes.slice(index * ROWS_PER_STATEMENT, (index + 1) * ROWS_PER_STATEMENT),
    )

  return {
    /** The site references these blobs; repeating it changes nothing. */
    async addReferences(slug: string, hashes: Iterable<string>): Promise<void> {
      for (const piece of pieces([...new Set(hashes)])) {
        await db
          .insertInto('blob_names')
          .values(piece.map((hash) => ({ slug, hash })))
          .onConflict((c) => c.doNothing())
          .execute()
      }
    },

    async hashesOf(slug: string): Promise<string[]> {
      const rows = await db.selectFrom('blob_names').select('hash').where('slug', '=', slug).execute()
      return rows.map((row) => row.hash)
    },

    /**
     * Removes references of a site; blobs without references are marked for deletion with a new grace period.
     */
    async removeReferences(slug: string, hashes: readonly string[], now: number): Promise<void> {
      for (const piece of pieces(hashes)) {
        await db.deleteFrom('blob_names').where('slug', '=', slug).where('hash', 'in', piece).execute()
      }
      const unnamed = await this.findUnreferenced(hashes)
      await this.unmark(unnamed)
      await this.markForDeletion(unnamed, now)
    },

    /** The hashes among these that no site references and no pending version has received. */
    async findUnreferenced(hashes: readonly string[]): Promise<string[]> {
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

    /** Marks blobs for deletion at `now`; an earlier mark stays. Returns how many were marked. */
    async markForDeletion(hashes: readonly string[], now: number): Promise<number> {
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

    /** Blobs marked before `before`, the oldest first. */
    async markedForDeletion(before: number, limit: number): Promise<string[]> {
      const rows = await db
        .selectFrom('condemned_blobs')
        .select('hash')
        .where('since', '<=', before)
        .orderBy('since')
        .limit(limit)
        .execute()
      return rows.map((row) => row.hash)
    },

    async unmark(hashes: readonly string[]): Promise<void> {
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
