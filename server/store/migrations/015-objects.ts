import { type Kysely, sql } from 'kysely'
import { DAY_MS } from '../../lib/time.ts'
import type { EngineName } from '../schema.ts'

/**
 * How long files that no version used at the upgrade are kept: a migration does not know SLIPWAY_BLOB_GRACE, by which a
 * backup finds all files of its database.
 */
const UNREFERENCED_KEPT_MS = 30 * DAY_MS

/**
 * A row says which object holds the content of a hash. Objects of earlier releases have the hash as their name. The
 * uploads of pending versions have to be repeated.
 */
export async function up(db: Kysely<unknown>, engine: EngineName): Promise<void> {
  await createBlobs(db)
  await createDiscardedObjects(db)
  await addEncodingLocations(db)
  await fillBlobs(db, engine)
  await discardUnreferenced(db)
  await recreateArrivals(db, engine)
  await db.schema
    .createTable('job_cursors')
    .addColumn('job', 'text', (c) => c.primaryKey())
    .addColumn('position', 'text', (c) => c.notNull())
    .execute()
}

async function createBlobs({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('blobs')
    .addColumn('hash', 'text', (c) => c.primaryKey())
    .addColumn('object', 'text')
    .addColumn('size', 'bigint', (c) => c.notNull())
    .addColumn('pieces_hash', 'text')
    .addColumn('slug', 'text')
    .addColumn('unreferenced_since', 'bigint')
    .execute()
  // Most names contain the beginning of the hash, by which their row is found.
  await schema
    .createIndex('blobs_by_object')
    .on('blobs')
    .column('object')
    .where(sql<boolean>`substr(object, 27, 1) <> 'h'`)
    .execute()
  await schema
    .createIndex('blobs_unreferenced')
    .on('blobs')
    .column('unreferenced_since')
    .where(sql<boolean>`unreferenced_since is not null`)
    .execute()
}

async function createDiscardedObjects({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('discarded_objects')
    .addColumn('object', 'text', (c) => c.primaryKey())
    .addColumn('due_at', 'bigint', (c) => c.notNull())
    .execute()
  await schema.createIndex('discarded_objects_due').on('discarded_objects').column('due_at').execute()
}

async function addEncodingLocations({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('encodings').addColumn('object', 'text').execute()
  await schema.alterTable('encodings').addColumn('locations', 'text').execute()
  await schema.createIndex('encodings_by_object').on('encodings').column('object').execute()
}

/**
 * Files that no manifest lists are injected documents, of which only encodings are stored. The sizes in the manifest of
 * a pending version are claims of its client.
 */
async function fillBlobs(db: Kysely<unknown>, engine: EngineName): Promise<void> {
  const files =
    engine === 'postgres'
      ? sql`select file->>'hash' as hash, (file->>'size')::bigint as size
            from versions, json_array_elements(versions.files::json) as file
            where versions.state = 'ready'`
      : sql`select json_extract(file.value, '$.hash') as hash, json_extract(file.value, '$.size') as size
            from versions, json_each(versions.files) as file
            where versions.state = 'ready'`
  await sql`
    insert into blobs (hash, object, size, slug)
    select named.hash, case when sized.size is null then null else named.hash end, coalesce(sized.size, 0), named.slug
    from (select hash, min(slug) as slug from blob_names group by hash) as named
    left join (select hash, max(size) as size from (${files}) as listed group by hash) as sized
      on sized.hash = named.hash`.execute(db)
  await sql`
    delete from blob_names
    where exists (select 1 from blobs where blobs.hash = blob_names.hash and blobs.slug = blob_names.slug)`.execute(
    db,
  )
}

async function discardUnreferenced(db: Kysely<unknown>): Promise<void> {
  const isUnreferenced = (table: string) =>
    sql`not exists (select 1 from blobs where blobs.hash = ${sql.ref(`${table}.hash`)})`
  await sql`
    insert into discarded_objects (object, due_at)
    select hash, since + ${sql.lit(UNREFERENCED_KEPT_MS)} from condemned_blobs where ${isUnreferenced('condemned_blobs')}`.execute(
    db,
  )
  for (const encoding of ['br', 'zstd', 'gzip'])
    await sql`
      insert into discarded_objects (object, due_at)
      select encodings.hash || ${sql.lit(`.${encoding}`)},
        coalesce(condemned_blobs.since, 0) + ${sql.lit(UNREFERENCED_KEPT_MS)}
      from encodings left join condemned_blobs on condemned_blobs.hash = encodings.hash
      where ${sql.ref(encoding)} is not null and ${isUnreferenced('encodings')}`.execute(db)
  await sql`delete from encodings where ${isUnreferenced('encodings')}`.execute(db)
  await db.schema.dropTable('condemned_blobs').execute()
}

/** A crash of PostgreSQL empties an unlogged table: these uploads are repeated, too. */
async function recreateArrivals(db: Kysely<unknown>, engine: EngineName): Promise<void> {
  await db.schema.dropTable('arrivals').execute()
  await db.schema
    .createTable('arrivals')
    .$call((table) => (engine === 'postgres' ? table.modifyFront(sql`unlogged`) : table))
    .addColumn('version_id', 'text', (c) => c.notNull())
    .addColumn('file_number', 'integer', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull())
    .addColumn('size', 'bigint', (c) => c.notNull())
    .addColumn('object', 'text', (c) => c.notNull())
    .addColumn('pieces_hash', 'text')
    .addPrimaryKeyConstraint('arrivals_primary', ['version_id', 'file_number'])
    .execute()
}
