import type { Kysely } from 'kysely'
import type { BlobLocation } from '../blobs/blobs.ts'
import { toLocation } from './queries/blob-records.ts'
import type { Schema } from './schema.ts'
import { pages, type Tables } from './transfer.ts'

export interface SnapshotCounts {
  accounts: number
  sites: number
  versions: number
}

export class Snapshot {
  readonly #db: Kysely<Schema>

  constructor({ db }: Tables) {
    this.#db = db
  }

  async count(): Promise<SnapshotCounts> {
    const count = async (table: 'accounts' | 'sites' | 'versions') => {
      const counted = this.#db.selectFrom(table).select((e) => e.fn.countAll<number>().as('count'))
      const { count } = await (table === 'sites'
        ? counted.where('deleted_at', 'is', null)
        : counted
      ).executeTakeFirstOrThrow()
      return count
    }
    return {
      accounts: await count('accounts'),
      sites: await count('sites'),
      versions: await count('versions'),
    }
  }

  async *blobs(): AsyncGenerator<BlobLocation[]> {
    for await (const page of pages<Schema['blobs']>(this.#db, 'blobs', ['hash']))
      yield page.flatMap((row) => toLocation(row) ?? [])
  }

  /** A backup has no encodings: the service prepares them again. */
  async discardEncodings(): Promise<void> {
    await this.#db.deleteFrom('encodings').execute()
    await this.#db.updateTable('versions').set({ is_encoded: 0 }).where('is_encoded', '=', 1).execute()
  }
}
