import { type Kysely, sql } from '#kysely'
import type { BlobLocation, StoredBlob } from '../blobs/blobs.ts'
import { toBatches } from '../lib/batches.ts'
import { Component } from '../lib/component.ts'
import { toEncodingLocations, toEncodingRow, toLocation } from './queries/blob-records.ts'
import { Rows } from './rows.ts'
import { type Schema, TABLES } from './schema.ts'
import type { BlobEncodings } from './tables/blobs.ts'
import { UNFINISHED_MOVE } from './tables/jobs.ts'

/** The tables of a database, over one connection. */
export interface Tables extends AsyncDisposable {
  readonly db: Kysely<Schema>
}

/** The times of the two databases, in milliseconds since 1970. */
export interface TransferTimes {
  source: number
  target: number
}

type TableName = keyof typeof TABLES

/** Tables with rows that the target has of its own, or that begin empty; uploads of pending versions are repeated. */
const NOT_COPIED: readonly TableName[] = [
  ...(['blobs', 'encodings', 'discarded_objects', 'arrivals', 'job_cursors'] as const),
  ...(['leases', 'nodes', 'shared_settings', 'figures', 'sweep_runs'] as const),
]

const COPIED = (Object.keys(TABLES) as TableName[]).filter((table) => !NOT_COPIED.includes(table))

const ROWS_PER_PAGE = 200
const VERSIONS_PER_PAGE = 20

/** Of the files whose rows are written together: an interrupted transfer copies at most these again. */
const MAX_UNRECORDED_BYTES = 2 ** 30

/** Why rows cannot be copied out of a database, or into it. */
export class DatabaseInUseError extends Error {
  override name = 'DatabaseInUseError'
}

/**
 * Reserves a database for one source. DatabaseInUseError when it has other rows, or another source has claimed it, or at
 * first when files of a service are where its own will be: each of the two services would delete those of the other one.
 */
export async function claimTarget(
  { db }: Pick<Tables, 'db'>,
  sourceId: string,
  hasFiles: () => Promise<boolean>,
): Promise<void> {
  const cursors = new Rows(db, 'job_cursors')
  const marker = await cursors.find({ job: UNFINISHED_MOVE })
  if (marker?.position === sourceId) return
  if (marker) throw new DatabaseInUseError('The target is in use: another service is being moved there')
  for (const table of ['accounts', 'sites', 'blobs'] as const)
    if (await db.selectFrom(table).select(sql`1`.as('found')).limit(1).executeTakeFirst())
      throw new DatabaseInUseError('The target is in use: it has the data of a service')
  if (await hasFiles())
    throw new DatabaseInUseError(
      'The target is in use: it has files of a service. Use another folder, bucket or prefix',
    )
  await cursors.insert({ job: UNFINISHED_MOVE, position: sourceId })
}

/** Copies rows between any engines. The source must not change; the caller copies the objects. */
export class Transfer {
  readonly #source: Kysely<Schema>
  readonly #target: Kysely<Schema>

  constructor(source: Tables, target: Tables) {
    this.#source = source.db
    this.#target = target.db
  }

  /** Also continues a transfer of this source. DatabaseInUseError as `claimTarget`, or when a node uses a database. */
  async begin(sourceId: string, now: TransferTimes, hasFiles: () => Promise<boolean>): Promise<void> {
    await assertNoNode(this.#source, 'source', now.source)
    await assertNoNode(this.#target, 'target', now.target)
    await claimTarget({ db: this.#target }, sourceId, hasFiles)
  }

  async countBlobs(): Promise<number> {
    return new Rows(this.#source, 'blobs').count({})
  }

  /**
   * `copy` stores those that the target does not have, beside those that are `present`, and returns them. The others are
   * damaged in the target: what publishes one again repairs it, and another transfer tries again.
   */
  async copyBlobs(
    copy: (blobs: readonly BlobLocation[], present: number) => Promise<readonly StoredBlob[]>,
  ): Promise<void> {
    for await (const page of pages<Schema['blobs']>(this.#source, 'blobs')) {
      const present = await this.#objectsOf('blobs', page)
      for (const batch of toBatches(page, { maxBytes: MAX_UNRECORDED_BYTES })) {
        const missing = batch.filter(({ hash, object }) => object !== null && !present.get(hash))
        const locations = missing.map((row) => toLocation(row)!)
        const stored = await copy(locations, batch.length - missing.length)
        const byHash = new Map(stored.map((blob) => [blob.hash, blob]))
        const rows = batch.map((row) => {
          const { object, piecesHash } = byHash.get(row.hash) ?? {}
          if (object !== undefined) return { ...row, object, pieces_hash: piecesHash ?? null }
          if (present.get(row.hash)) return { ...row, object: null, pieces_hash: null }
          return { ...row, damaged_object: row.object }
        })
        await this.#putBlobs(rows)
      }
    }
  }

  /** Copies the encodings that the target does not have; `copy` stores them, and returns them. */
  async copyEncodings(
    copy: (encodings: readonly BlobEncodings[]) => Promise<readonly BlobEncodings[]>,
  ): Promise<void> {
    for await (const page of pages<Schema['encodings']>(this.#source, 'encodings')) {
      const present = await this.#objectsOf('encodings', page)
      const missing = page.filter(({ hash }) => !present.has(hash))
      const stored = await copy(missing.map((row) => ({ hash: row.hash, ...toEncodingLocations(row) })))
      if (stored.length > 0)
        await this.#target.insertInto('encodings').values(stored.map(toEncodingRow)).execute()
    }
  }

  /** Removes blobs and encodings that the source no longer has from the target. Returns their objects. */
  async removeOthers(): Promise<string[]> {
    const objects: string[] = []
    for (const table of ['encodings', 'blobs'] as const) {
      for await (const page of pages<{ hash: string; object: string | null }>(this.#target, table)) {
        const hashes = page.map(({ hash }) => hash)
        const kept = await new Rows(this.#source, table).pluck('hash', { hash: hashes })
        const others = page.filter(({ hash }) => !kept.includes(hash))
        if (others.length === 0) continue
        objects.push(...others.flatMap(({ object }) => object ?? []))
        await new Rows(this.#target, table).remove({ hash: others.map(({ hash }) => hash) })
      }
    }
    return objects
  }

  /** Replaces all other rows of the target by those of the source. Returns their number. */
  async copyRows(): Promise<number> {
    let total = 0
    for (const table of COPIED) {
      await this.#target.deleteFrom(table).execute()
      for await (const page of pages<object>(this.#source, table)) {
        await this.#target
          .insertInto(table)
          .values(page as never)
          .execute()
        total += page.length
      }
    }
    return total
  }

  async finish(): Promise<void> {
    await new Rows(this.#target, 'job_cursors').remove({ job: UNFINISHED_MOVE })
  }

  /** A row that is there keeps its object, unless that was damaged. */
  async #putBlobs(rows: readonly Schema['blobs'][]): Promise<void> {
    if (rows.length === 0) return
    await this.#target
      .insertInto('blobs')
      .values(rows)
      .onConflict((c) =>
        c.column('hash').doUpdateSet({
          site: sql`excluded.site`,
          unreferenced_since: sql`excluded.unreferenced_since`,
          object: sql`coalesce(excluded.object, blobs.object)`,
          pieces_hash: sql`case when excluded.object is null then blobs.pieces_hash else excluded.pieces_hash end`,
          damaged_object: sql`excluded.damaged_object`,
        }),
      )
      .execute()
  }

  async #objectsOf(
    table: 'blobs' | 'encodings',
    page: readonly { hash: string }[],
  ): Promise<Map<string, string | null>> {
    const hashes = page.map(({ hash }) => hash)
    const rows = await new Rows(this.#target, table).list({ hash: hashes })
    const isDamaged = (row: (typeof rows)[number]) =>
      'damagedObject' in row && row.damagedObject === row.object
    return new Map(rows.map((row) => [row.hash, isDamaged(row) ? null : row.object]))
  }
}

/** A node that was seen within this time, in milliseconds, may be running. */
const RECENT_MS = 60_000

async function assertNoNode(db: Kysely<Schema>, name: keyof TransferTimes, now: number): Promise<void> {
  if (await new Rows(db, 'nodes').has({ seenAt: { '>': now - RECENT_MS } }))
    throw new DatabaseInUseError(`The ${name} is in use: a node has reported within the last minute`)
}

async function* pages<Row extends object>(db: Kysely<Schema>, table: TableName): AsyncGenerator<Row[]> {
  const { key } = TABLES[table]
  const limit = table === 'versions' || table === 'thumbnails' ? VERSIONS_PER_PAGE : ROWS_PER_PAGE
  const columns = sql.join(key.map((name) => sql.ref(name)))
  for (let last: Row | undefined; ; ) {
    const after = last && key.map((name) => (last as Record<string, unknown>)[name])
    const { rows } = await sql<Row>`
      select * from ${sql.table(table)}
      ${after ? sql`where (${columns}) > (${sql.join(after)})` : sql``}
      order by ${columns} limit ${sql.lit(limit)}`.execute(db)
    if (rows.length > 0) yield rows
    if (rows.length < limit) return
    last = rows.at(-1)
  }
}

export interface SnapshotCounts {
  accounts: number
  sites: number
  versions: number
}

export class Snapshot extends Component<Pick<Tables, 'db'>> {
  async count(): Promise<SnapshotCounts> {
    return {
      accounts: await new Rows(this.parts.db, 'accounts').count({}),
      sites: await new Rows(this.parts.db, 'sites').count({ deletedAt: null }),
      versions: await new Rows(this.parts.db, 'versions').count({}),
    }
  }

  async *blobs(): AsyncGenerator<BlobLocation[]> {
    for await (const page of pages<Schema['blobs']>(this.parts.db, 'blobs'))
      yield page.flatMap((row) => toLocation(row) ?? [])
  }

  /** A backup has no encodings: the service prepares them again. */
  async discardEncodings(): Promise<void> {
    await this.parts.db.deleteFrom('encodings').execute()
    await this.parts.db.updateTable('versions').set({ is_encoded: 0 }).where('is_encoded', '=', 1).execute()
  }

  /** What may have ended since, and its holders get again. Keys stay, because programs depend on them. */
  async discardSessions(): Promise<void> {
    for (const table of ['sessions', 'sign_in_codes', 'device_sign_ins', 'review_links'] as const)
      await this.parts.db.deleteFrom(table).execute()
    // A program registers once.
    await this.parts.db.deleteFrom('oauth_records').where('kind', '!=', 'Client').execute()
  }
}
