import { type Kysely, type RawBuilder, sql } from '#kysely'
import { type BlobLocation, objectHashPrefix, type StoredBlob } from '../../blobs/blobs.ts'
import { isPostgres, QueryGroup } from '../rows.ts'
import type { Schema } from '../schema.ts'
import { rowsStatement, statement, toBatches } from '../statement.ts'
import type { BlobEncodings, BlobRecord } from '../tables/blobs.ts'
import { BLOB_RECORD, JOINED_WITH_BLOBS, parseBlobRecord, toEncodingRow, toLocation } from './blob-records.ts'
import { hasVisitsKey } from './sites.ts'

type NewBlobRow = Omit<Schema['blobs'], 'unreferenced_since' | 'damaged_object'> & { site: string }

interface AddedBlobs {
  /** Those that hold the contents now. */
  objects: Set<string>
  /** Contents whose object was damaged or missing. */
  replaced: readonly string[]
}

/** Five parameters each; PostgreSQL allows 65,535 of one statement, SQLite 32,766. */
const BLOBS_PER_STATEMENT = 2000

/** As in the indexes. */
const IS_DAMAGED = sql<boolean>`blobs.damaged_object = blobs.object`
const IS_FOUND_BY_NAME = sql<boolean>`substr(object, 27, 1) <> 'h'`

const ENCODED = statement((db, versionId: string) =>
  db
    .selectFrom('encodings')
    .select('hash')
    .where('hash', 'in', sql<string>`(${selectManifestHashes(db, sql`versions.id = ${versionId}`)})`),
)

const ANY_DAMAGED = statement((db) => db.selectFrom('blobs').select('hash').where(IS_DAMAGED).limit(1))

const REFERENCED_AGAIN = {
  unreferenced_since: null,
  site: sql<string>`coalesce(blobs.site, excluded.site)`,
  object: unlessIntact<string | null>('object'),
  size: unlessIntact<number>('size'),
  pieces_hash: unlessIntact<string | null>('pieces_hash'),
  // Of the object that this upload replaces, or of one that stays damaged.
  damaged_object: sql<string | null>`case when ${IS_DAMAGED} then blobs.object end`,
}

/** What an upload has, where no object holds the content. */
function unlessIntact<T>(column: keyof NewBlobRow): RawBuilder<T> {
  const [stored, uploaded] = ['blobs', 'excluded'].map((table) => sql.ref(`${table}.${column}`))
  return sql`case when excluded.object is not null and (blobs.object is null or ${IS_DAMAGED})
    then ${uploaded} else ${stored} end`
}

const UPSERT = rowsStatement(
  ['hash', 'object', 'size', 'pieces_hash', 'site'],
  (db, rows: readonly NewBlobRow[]) =>
    db
      .insertInto('blobs')
      .values(rows)
      .onConflict((c) => c.column('hash').doUpdateSet(REFERENCED_AGAIN))
      .returning(['hash', 'object', 'site', 'damaged_object']),
)

/**
 * Which object holds which content, which sites reference it (by their `visitsKey`), and the objects that are to be deleted.
 *
 * Each object has at most one row: that of an upload to a pending version (`VersionQueries`), of a blob, of encodings,
 * or of a discarded object, from which it never returns. So an object may only be discarded by the write that deletes
 * its other row, or when it never had one.
 *
 * A blob without references is deleted when it has been unreferenced for the grace period. A new reference and the
 * deletion exclude each other, whatever the scopes of their writes.
 */
export class BlobQueries extends QueryGroup {
  readonly #discarded = this.rows('discarded_objects')

  async find(hash: string): Promise<BlobLocation | undefined> {
    const row = await this.db
      .selectFrom('blobs')
      .select(['hash', 'object', 'size', 'pieces_hash', 'damaged_object'])
      .where('hash', '=', hash)
      .executeTakeFirst()
    return (row && toLocation(row)) ?? undefined
  }

  async list(after: string, limit: number): Promise<BlobRecord[]> {
    const { rows } = await sql<{ record: string }>`
      select ${BLOB_RECORD} as record from blobs ${JOINED_WITH_BLOBS} where blobs.hash > ${after}
      order by blobs.hash limit ${limit}`.execute(this.db)
    return rows.map(({ record }) => parseBlobRecord(record))
  }

  /** The `visitsKey`s of sites, in this order. */
  async referencingSites(hashes: readonly string[], after: string, limit: number): Promise<string[]> {
    const first = this.db.selectFrom('blobs').select('site').where('hash', 'in', hashes)
    const others = this.db.selectFrom('blob_names').select('site').where('hash', 'in', hashes)
    const rows = await this.db
      .selectFrom(first.union(others).as('names'))
      .select('site')
      .where('site', '>', after)
      .orderBy('site')
      .limit(limit)
      .execute()
    return rows.map(({ site }) => site!)
  }

  async encodedHashes(versionId: string): Promise<Set<string>> {
    return new Set((await ENCODED(this.db, versionId)).map(({ hash }) => hash))
  }

  /** Records that other bytes, or none, were found in an object, if it still holds a content. Idempotent. */
  async markDamaged(object: string): Promise<void> {
    const first = objectHashPrefix(object)
    const place =
      first === undefined ? IS_FOUND_BY_NAME : sql`hash >= ${first} and hash < ${afterHashes(first)}`
    await sql`update blobs set damaged_object = object where object = ${object} and ${place}`.execute(this.db)
  }

  /** Discards encodings in which other bytes were found: the file is served without. Idempotent. */
  async removeEncodings(hash: string, object: string): Promise<void> {
    if ((await this.rows('encodings').remove({ hash, object })) > 0) await this.discard([object])
  }

  /** Those among these whose object is damaged or missing. */
  async damagedAmong(hashes: readonly string[]): Promise<Set<string>> {
    const found = new Set<string>()
    if (hashes.length === 0 || (await ANY_DAMAGED(this.db)).length === 0) return found
    for (const batch of toBatches(hashes))
      for (const hash of await this.rows('blobs').pluck('hash', (all) =>
        all.where('hash', 'in', batch).where(IS_DAMAGED),
      ))
        found.add(hash)
    return found
  }

  /** Content that another object holds stays there, unless that is damaged: it is discarded then. Idempotent. */
  async add(site: string, blobs: readonly StoredBlob[]): Promise<AddedBlobs> {
    return this.#upsert(
      blobs.map(({ hash, object, size, piecesHash }) => ({
        hash,
        object,
        size,
        pieces_hash: piecesHash,
        site,
      })),
    )
  }

  /** For blobs that another site references, or for an injected document, which has only encodings. Idempotent. */
  async addReferences(site: string, hashes: Iterable<string>): Promise<void> {
    await this.#upsert(
      Array.from(hashes, (hash) => ({ hash, object: null, size: 0, pieces_hash: null, site })),
    )
  }

  /** Returns what was removed. The grace period of these blobs starts now, unless other sites reference them. */
  async removeReferences(
    site: string,
    hashes: readonly string[],
    now: number,
  ): Promise<{ hash: string; size: number }[]> {
    const removed = new Map<string, Pick<Schema['blobs'], 'hash' | 'size'>>()
    const start = (batch: readonly string[]) =>
      this.db
        .updateTable('blobs')
        .set({ unreferenced_since: now })
        .where('hash', 'in', batch)
        .returning(['hash', 'size'])
    for (const batch of toBatches(hashes.toSorted())) {
      const rows = await start(batch).set({ site: null }).where('site', '=', site).execute()
      const names = await this.rows('blob_names').take({ site, hash: batch })
      if (names.length > 0) rows.push(...(await start(names.map(({ hash }) => hash)).execute()))
      // A site can be in both tables for the same content.
      for (const row of rows) removed.set(row.hash, row)
    }
    return [...removed.values()]
  }

  /** Deletes what has had no reference since `before`, with its encodings, and discards the objects. */
  async collect(before: number, limit: number): Promise<{ examined: number; deleted: number }> {
    const locked = await this.#lockUnreferenced(before, limit)
    if (locked.length === 0) return { examined: 0, deleted: 0 }
    const deleted = await this.db
      .deleteFrom('blobs')
      .where('hash', 'in', locked)
      .where('site', 'is', null)
      .where(sql<boolean>`not exists (select 1 from blob_names where blob_names.hash = blobs.hash)`)
      .returning(['hash', 'object'])
      .execute()
    const hashes = deleted.map(({ hash }) => hash)
    const referenced = locked.filter((hash) => !hashes.includes(hash))
    await this.rows('blobs').update({ hash: referenced }, { unreferencedSince: null })
    const encodings = await this.rows('encodings').take({ hash: hashes })
    await this.discard([...deleted, ...encodings].flatMap(({ object }) => object ?? []))
    return { examined: locked.length, deleted: deleted.length }
  }

  /** Records encodings of referenced blobs. Those that are recorded stay: the objects of others are discarded. */
  async recordEncodings(encodings: readonly BlobEncodings[]): Promise<void> {
    for (const batch of toBatches(encodings.map(toEncodingRow))) {
      const recorded = await this.db
        .insertInto('encodings')
        .values(batch)
        .onConflict((c) => c.doNothing())
        .returning('hash')
        .execute()
      const hashes = new Set(recorded.map(({ hash }) => hash))
      await this.discard(batch.flatMap((row) => (hashes.has(row.hash) ? [] : (row.object ?? []))))
    }
  }

  /** Discards objects that have no row, or whose row this write has deleted, to be deleted at `dueAt`. Idempotent. */
  async discard(objects: readonly string[], dueAt = 0): Promise<void> {
    await this.#discarded.insertMissing(objects.toSorted().map((object) => ({ object, dueAt })))
  }

  listDiscarded(now: number, limit: number): Promise<string[]> {
    return this.#discarded.pluck('object', { dueAt: { '<=': now } }, 'dueAt', { limit })
  }

  async forgetDiscarded(objects: readonly string[]): Promise<void> {
    await this.#discarded.remove({ object: objects })
  }

  /** Returns those not in use. The others stay: they arrived so slowly that they counted as left behind. */
  async postponeDiscarded(objects: readonly string[], until: number): Promise<string[]> {
    const postponed: string[] = []
    for (const batch of toBatches(objects)) {
      const used = await this.#listUsed(batch)
      await this.forgetDiscarded(batch.filter((object) => used.has(object)))
      const unused = batch.filter((object) => !used.has(object))
      await this.#discarded.update({ object: unused }, { dueAt: until })
      postponed.push(...unused)
    }
    return postponed
  }

  async withoutRow(objects: readonly string[]): Promise<string[]> {
    const found: string[] = []
    for (const batch of toBatches(objects)) {
      const known = await this.#listUsed(batch)
      for (const object of await this.#listObjects('discarded_objects', batch)) known.add(object)
      found.push(...batch.filter((object) => !known.has(object)))
    }
    return found
  }

  /** In the order of the hashes, against deadlocks: PostgreSQL would lock the rows of an UPDATE in that of its plan. */
  async #upsert(rows: readonly NewBlobRow[]): Promise<AddedBlobs> {
    const byHash = new Map(rows.map((row) => [row.hash, row]))
    const sorted = [...byHash.values()].sort((one, other) => (one.hash < other.hash ? -1 : 1))
    const added = { objects: new Set<string>(), replaced: [] as string[] }
    const discarded: string[] = []
    for (const batch of toBatches(sorted, BLOBS_PER_STATEMENT)) {
      const stored = await UPSERT(this.db, batch)
      for (const { hash, object, damaged_object: damaged } of stored) {
        if (object !== null) added.objects.add(object)
        if (damaged === null || damaged === object) continue
        added.replaced.push(hash)
        discarded.push(damaged)
      }
      await this.#addNames(
        stored
          .filter(({ hash, site }) => site !== byHash.get(hash)!.site)
          .map(({ hash }) => byHash.get(hash)!),
      )
    }
    await this.discard(discarded)
    return added
  }

  async #addNames(rows: readonly NewBlobRow[]): Promise<void> {
    if (rows.length === 0) return
    await this.db
      .insertInto('blob_names')
      .values(
        rows.map(({ hash, site }) => ({
          hash,
          site,
          // Former names of the site have its owner.
          owner_id: sql<
            string | null
          >`(select max(owner_id) from sites where ${hasVisitsKey(sql`= ${site}`)})`,
        })),
      )
      .onConflict((c) => c.doNothing())
      .execute()
  }

  /** Locked until the commit: a reference is visible to later statements, or follows the commit in a row of its own. */
  async #lockUnreferenced(before: number, limit: number): Promise<string[]> {
    const candidates = this.db
      .selectFrom('blobs')
      .select('hash')
      .where('unreferenced_since', '<=', before)
      .orderBy('unreferenced_since')
      .limit(limit)
    const rows = await this.db
      .updateTable('blobs')
      .set((e) => ({ unreferenced_since: e.ref('unreferenced_since') }))
      .where('hash', 'in', candidates)
      .where('unreferenced_since', '<=', before)
      .returning('hash')
      .execute()
    return rows.map(({ hash }) => hash)
  }

  /** Objects move from one table to the next while these statements run, so that the tables are read in that order. */
  async #listUsed(objects: readonly string[]): Promise<Set<string | null>> {
    const used = new Set<string | null>()
    for (const object of await this.#listObjects('arrivals', objects)) used.add(object)
    for (const object of await this.#listBlobObjects(objects)) used.add(object)
    for (const object of await this.#listObjects('encodings', objects)) used.add(object)
    return used
  }

  #listObjects(
    table: 'arrivals' | 'encodings' | 'discarded_objects',
    objects: readonly string[],
  ): Promise<(string | null)[]> {
    return this.rows(table).pluck('object', { object: objects })
  }

  async #listBlobObjects(objects: readonly string[]): Promise<(string | null)[]> {
    const found: (string | null)[] = []
    const { byHash = [], byName = [] } = Object.groupBy(objects, (object) =>
      objectHashPrefix(object) === undefined ? 'byName' : 'byHash',
    )
    if (byName.length > 0)
      found.push(
        ...(await this.rows('blobs').pluck('object', (all) =>
          all.where('object', 'in', byName).where(IS_FOUND_BY_NAME),
        )),
      )
    if (byHash.length > 0) {
      const ranges = byHash.map((object) => {
        const first = objectHashPrefix(object)!
        return sql`(${object}, ${first}, ${afterHashes(first)})`
      })
      const { rows } = await sql<{ object: string }>`
        with wanted (object, first, past) as (values ${sql.join(ranges)})
        select wanted.object from wanted join blobs
          on blobs.hash >= wanted.first and blobs.hash < wanted.past and blobs.object = wanted.object`.execute(
        this.db,
      )
      found.push(...rows.map(({ object }) => object))
    }
    return found
  }
}

/** Which sites (by `visitsKey`), and which owners, reference which contents; `BlobQueries` changes the references. */
export class ReferenceQueries extends QueryGroup {
  /**
   * The contents among these that another site of the owner references. Exact within a write that has just added or
   * removed references of the site to them: their rows are locked until the commit.
   */
  async heldBeside(site: string, ownerId: string, hashes: readonly string[]): Promise<Set<string>> {
    const found: string[] = []
    for (const batch of toBatches(hashes)) {
      const { rows } = await sql<{ hash: string }>`
        select hash from blobs where hash in (${sql.join(batch)}) and ${isHeldByOther('<>', site, ownerId)}`.execute(
        this.db,
      )
      found.push(...rows.map(({ hash }) => hash))
    }
    return new Set(found)
  }

  /**
   * Bytes of the contents that a site references, and of those among them that no other site of the owner references;
   * with `<` no other one whose `visitsKey` is less, so that the sum over all sites of the owner has each content once. Counts a
   * content once that the site references in both tables.
   */
  async sum(
    site: string,
    ownerId: string | null,
    order: '<>' | '<' = '<>',
  ): Promise<{ bytes: number; own: number }> {
    const counted =
      ownerId === null
        ? sql`size`
        : sql`case when ${isHeldByOther(order, site, ownerId)} then 0 else size end`
    const { rows } = await sql<{ bytes: number; own: number }>`
      select coalesce(sum(size), 0) as bytes, coalesce(sum(${counted}), 0) as own from (
        select hash, size, site from blobs where site = ${site}
        union
        select blobs.hash, blobs.size, blobs.site from blob_names join blobs on blobs.hash = blob_names.hash
        where blob_names.site = ${site}) as blobs`.execute(this.db)
    return rows[0]!
  }

  /** Records the owner of a site with its references, which stay locked until the commit. */
  async setOwner(site: string, ownerId: string): Promise<void> {
    const lock = this.db
      .updateTable('blobs')
      .set((e) => ({ unreferenced_since: e.ref('unreferenced_since') }))
    const names = this.db.selectFrom('blob_names').select('hash').where('site', '=', site)
    await lock.where('site', '=', site).execute()
    await lock.where('hash', 'in', names).execute()
    await this.rows('blob_names').update({ site }, { ownerId })
  }
}

function isHeldByOther(order: '<>' | '<', site: string, ownerId: string): RawBuilder<boolean> {
  const isOther = sql`${sql.raw(order)} ${site}`
  return sql`(blobs.site ${isOther}
      and exists (select 1 from sites where ${hasVisitsKey(sql`= blobs.site`)} and owner_id = ${ownerId})
    or exists (select 1 from blob_names as other
      where other.hash = blobs.hash and other.owner_id = ${ownerId} and other.site ${isOther}))`
}

/** Includes injected documents. `versions` is the condition on the table of this name. */
export function selectManifestHashes(db: Kysely<Schema>, versions: RawBuilder<unknown>): RawBuilder<string> {
  const hashes = isPostgres(db)
    ? sql`select file.value from versions, json_array_elements_text(versions.files::json->'hash') as file`
    : sql`select file.value from versions, json_each(versions.files, '$.hash') as file`
  return sql`${hashes} where ${versions} union all select injected_document_hash from versions
    where injected_document_hash is not null and ${versions}`
}

/** Whether the manifest of a version contains a hash as such, rather than in a path. */
export function containsHash(db: Kysely<Schema>, hash: string): RawBuilder<boolean> {
  const position = (part: string) =>
    sql`${sql.raw(isPostgres(db) ? 'strpos' : 'instr')}(${sql.ref('versions.files')}, ${part})`
  return sql`${position(JSON.stringify(hash))} between 1 and ${position(']')}`
}

/** No hexadecimal digit follows "f" before "g". */
function afterHashes(first: string): string {
  return `${first}g`
}
