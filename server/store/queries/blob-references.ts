import { type Kysely, sql } from 'kysely'
import type { BlobReferenceQueries } from '../contract/blob-references.ts'
import type { Schema } from '../schema.ts'
import { toBatches } from './batches.ts'

export class SqlBlobReferenceQueries implements BlobReferenceQueries {
  readonly #db: Kysely<Schema>

  constructor(db: Kysely<Schema>) {
    this.#db = db
  }

  async addReferences(slug: string, hashes: Iterable<string>) {
    for (const batch of toBatches([...new Set(hashes)])) {
      await this.#db
        .insertInto('blob_names')
        .values(batch.map((hash) => ({ slug, hash })))
        .onConflict((c) => c.doNothing())
        .execute()
    }
  }

  async listHashes(slug: string) {
    const rows = await this.#db.selectFrom('blob_names').select('hash').where('slug', '=', slug).execute()
    return rows.map((row) => row.hash)
  }

  async removeReferences(slug: string, hashes: readonly string[], now: number) {
    for (const batch of toBatches(hashes)) {
      await this.#db.deleteFrom('blob_names').where('slug', '=', slug).where('hash', 'in', batch).execute()
    }
    const unreferenced = await this.findUnreferenced(hashes)
    await this.unmark(unreferenced)
    await this.markForDeletion(unreferenced, now)
  }

  async findUnreferenced(hashes: readonly string[]) {
    const unreferenced: string[] = []
    for (const batch of toBatches(hashes)) {
      const references = await this.#db
        .selectFrom('blob_names')
        .select('hash')
        .distinct()
        .where('hash', 'in', batch)
        .execute()
      const arrivals = await this.#db
        .selectFrom('arrivals')
        .select('hash')
        .distinct()
        .where('hash', 'in', batch)
        .execute()
      const referenced = new Set([...references, ...arrivals].map((row) => row.hash))
      unreferenced.push(...batch.filter((hash) => !referenced.has(hash)))
    }
    return unreferenced
  }

  async markForDeletion(hashes: readonly string[], now: number) {
    let marked = 0
    for (const batch of toBatches(hashes)) {
      const { numInsertedOrUpdatedRows } = await this.#db
        .insertInto('condemned_blobs')
        .values(batch.map((hash) => ({ hash, since: now })))
        .onConflict((c) => c.doNothing())
        .executeTakeFirst()
      marked += Number(numInsertedOrUpdatedRows)
    }
    return marked
  }

  async markedForDeletion(before: number, limit: number) {
    const rows = await this.#db
      .selectFrom('condemned_blobs')
      .select('hash')
      .where('since', '<=', before)
      .orderBy('since')
      .limit(limit)
      .execute()
    return rows.map((row) => row.hash)
  }

  async unmark(hashes: readonly string[]) {
    for (const batch of toBatches(hashes)) {
      await this.#db.deleteFrom('condemned_blobs').where('hash', 'in', batch).execute()
    }
  }

  async count() {
    const row = await this.#db
      .selectFrom('blob_names')
      .select(sql<number>`count(distinct hash)`.as('blobs'))
      .executeTakeFirstOrThrow()
    return Number(row.blobs)
  }
}
