import { type Kysely, sql, type Updateable } from 'kysely'
import type { ArrivalRow, Schema, VersionRow } from '../schema.ts'

export type VersionQueries = ReturnType<typeof versionQueries>

/** A version without the columns that only serving needs. */
export type VersionSummaryRow = Omit<VersionRow, 'files' | 'rules' | 'warnings' | 'front'>

const SUMMARY_COLUMNS = [
  'id',
  'slug',
  'state',
  'file_count',
  'total_bytes',
  'viewer',
  'base_version_id',
  'created_at',
  'published_at',
  'encoded',
  'published_by',
  'published_with',
  'look',
] as const

/** Rows of one INSERT: below every engine's limit of parameters. */
const ROWS_PER_STATEMENT = 500

export function versionQueries(db: Kysely<Schema>) {
  const heads = () => db.selectFrom('versions').select(SUMMARY_COLUMNS)
  return {
    byId: (id: string) => db.selectFrom('versions').selectAll().where('id', '=', id).executeTakeFirst(),

    summary: (id: string) => heads().where('id', '=', id).executeTakeFirst(),

    /** Several versions, in no order. */
    heads: (ids: readonly string[]) =>
      ids.length === 0 ? Promise.resolve([]) : heads().where('id', 'in', ids).execute(),

    async insert(row: VersionRow): Promise<void> {
      await db.insertInto('versions').values(row).execute()
    },

    async update(id: string, change: Updateable<VersionRow>): Promise<void> {
      await db.updateTable('versions').set(change).where('id', '=', id).execute()
    },

    async remove(id: string): Promise<void> {
      await db.deleteFrom('arrivals').where('version_id', '=', id).execute()
      await db.deleteFrom('versions').where('id', '=', id).execute()
    },

    /** All versions of a site, pending ones too, newest first. */
    bySlug: (slug: string) => heads().where('slug', '=', slug).orderBy('id', 'desc').execute(),

    /** The files of a version, as JSON of `StoredFile[]`. */
    async filesOf(id: string): Promise<string | undefined> {
      const row = await db.selectFrom('versions').select('files').where('id', '=', id).executeTakeFirst()
      return row?.files
    },

    /** The newest finalized version of a site that is older than this one. */
    previousOf: (slug: string, id: string) =>
      heads()
        .where('slug', '=', slug)
        .where('id', '<', id)
        .where('state', '=', 'ready')
        .orderBy('id', 'desc')
        .executeTakeFirst(),

    /** The manifests and rendered index pages of all versions of a site. */
    manifestsOf: (slug: string) =>
      db.selectFrom('versions').select(['id', 'files', 'front']).where('slug', '=', slug).execute(),

    newestPending: (slug: string) =>
      db
        .selectFrom('versions')
        .selectAll()
        .where('slug', '=', slug)
        .where('state', '=', 'pending')
        .orderBy('id', 'desc')
        .executeTakeFirst(),

    /** The newest pending version of each of these sites. */
    async pendingOf(slugs: readonly string[]): Promise<VersionSummaryRow[]> {
      if (slugs.length === 0) return []
      const newest = db
        .selectFrom('versions')
        .select((e) => e.fn.max('id').as('id'))
        .where('slug', 'in', slugs)
        .where('state', '=', 'pending')
        .groupBy('slug')
      return heads().where('id', 'in', newest).execute()
    },

    /** Versions pending since before `previousOf`. */
    abandoned: (before: number, limit: number) =>
      heads()
        .where('state', '=', 'pending')
        .where('created_at', '<', before)
        .orderBy('created_at')
        .limit(limit)
        .execute(),

    /** Finalized versions whose encodings are incomplete, newest first. */
    notPrecompressed: (limit: number) =>
      heads()
        // Written literally, because it must match a partial index.
        .where(sql<boolean>`state = 'ready' and encoded = 0`)
        .orderBy('created_at', 'desc')
        .limit(limit)
        .execute(),

    /** Slugs of sites changed since `since` with more than `kept` finalized versions. */
    async overVersionLimit(kept: number, since: number, limit: number): Promise<string[]> {
      const rows = await db
        .selectFrom('sites')
        .innerJoin('versions', 'versions.slug', 'sites.slug')
        .select('sites.slug')
        .where('sites.updated_at', '>=', since)
        .where('versions.state', '=', 'ready')
        .groupBy('sites.slug')
        .having((e) => e(e.fn.countAll(), '>', kept))
        .limit(limit)
        .execute()
      return rows.map((row) => row.slug)
    },

    /** The versions among these that are still pending. */
    async pendingAmong(ids: readonly string[]): Promise<Set<string>> {
      const rows = await db
        .selectFrom('versions')
        .select('id')
        .where('id', 'in', ids)
        .where('state', '=', 'pending')
        .execute()
      return new Set(rows.map((row) => row.id))
    },

    /** Records received files; a later upload of the same file replaces an earlier one. */
    async recordArrivals(rows: readonly ArrivalRow[]): Promise<void> {
      for (let at = 0; at < rows.length; at += ROWS_PER_STATEMENT) {
        await db
          .insertInto('arrivals')
          .values(rows.slice(at, at + ROWS_PER_STATEMENT))
          .onConflict((c) =>
            c.columns(['version_id', 'file_number']).doUpdateSet({
              hash: sql`excluded.hash`,
              size: sql`excluded.size`,
            }),
          )
          .execute()
      }
    },

    arrivalsOf: (id: string) => db.selectFrom('arrivals').selectAll().where('version_id', '=', id).execute(),

    /** The received files of a version with these numbers. */
    arrivalsAmong: (id: string, fileNumbers: readonly number[]) =>
      db
        .selectFrom('arrivals')
        .selectAll()
        .where('version_id', '=', id)
        .where('file_number', 'in', fileNumbers)
        .execute(),

    /** Hashes of the received files of a site's pending versions. */
    async arrivedHashes(slug: string): Promise<string[]> {
      const rows = await db
        .selectFrom('arrivals')
        .innerJoin('versions', 'versions.id', 'arrivals.version_id')
        .select('arrivals.hash')
        .where('versions.slug', '=', slug)
        .execute()
      return rows.map((row) => row.hash)
    },

    /** Deletes rows whose bytes are lost; later uploads of the same files stay. */
    async deleteArrivals(
      id: string,
      lost: readonly Pick<ArrivalRow, 'file_number' | 'hash'>[],
    ): Promise<void> {
      await db
        .deleteFrom('arrivals')
        .where('version_id', '=', id)
        .where(
          'file_number',
          'in',
          lost.map((row) => row.file_number),
        )
        .where(
          'hash',
          'in',
          lost.map((row) => row.hash),
        )
        .execute()
    },

    /** Deletes received files with ids before `id` that belong to no version; returns their number. */
    async deleteStrayArrivals(id: string): Promise<number> {
      const { numDeletedRows } = await db
        .deleteFrom('arrivals')
        .where('version_id', '<', id)
        .where('version_id', 'not in', db.selectFrom('versions').select('id'))
        .executeTakeFirst()
      return Number(numDeletedRows)
    },

    async clearArrivals(id: string): Promise<void> {
      await db.deleteFrom('arrivals').where('version_id', '=', id).execute()
    },
  }
}
