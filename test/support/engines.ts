import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { StartOptions } from '../../server/backends.ts'
import type { Blobs } from '../../server/blobs/blobs.ts'
import { diskBlobs } from '../../server/blobs/disk.ts'
import type { Config } from '../../server/config/settings.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { TABLES } from '../../server/store/schema.ts'
import { sqliteStore, sqliteTables } from '../../server/store/sqlite.ts'
import type { Store } from '../../server/store/store.ts'
import type { Tables } from '../../server/store/transfer.ts'
import { PATIENT } from './patient.ts'
import { repeatWrites } from './repeated-writes.ts'

/**
 * The engines of the services in tests: SQLite and a folder by default, the same with each write executed twice
 * (`repeated-writes`), or PostgreSQL and S3 (`fleet`). `npm run fleet -- tests` sets it, and starts the servers.
 */
export type Engines = 'embedded' | 'repeated-writes' | 'fleet'

export const ENGINES = (process.env.TEST_ENGINES ?? 'embedded') as Engines

interface Location {
  databaseUrl: string
  blobsUrl: string
}

interface StoreOptions {
  /** The data folder: services and fixtures with one folder have one database and one place for blobs. */
  folder: string
  /** Milliseconds since 1970. */
  clock: () => number
  /** Between polls of SQLite for changes of other processes. PostgreSQL sends a notification. */
  pollIntervalMs?: number
}

/** Adds the chosen engines to the settings and start options of a service that has chosen none. */
export async function withEngines(config: Config, options: StartOptions): Promise<[Config, StartOptions]> {
  if (ENGINES === 'embedded' || config.databaseUrl !== '' || config.blobsUrl !== '') return [config, options]
  const { clock = Date.now } = options
  const openStore = () => openTestStore({ folder: config.data, clock })
  if (ENGINES === 'repeated-writes') return [config, { ...options, openStore }]
  return [Object.freeze({ ...config, ...(await locate(config.data)) }), { ...options, openStore }]
}

let emptyDatabase: Promise<Buffer> | undefined

/** Writes the database of a service without data into its new folder: the migrations take a third of a start. */
export async function writeEmptyDatabase(folder: string): Promise<void> {
  if (ENGINES === 'fleet') return
  emptyDatabase ??= createEmptyDatabase()
  await writeFile(join(folder, 'slipway.db'), await emptyDatabase)
}

async function createEmptyDatabase(): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-empty-'))
  const file = join(folder, 'slipway.db')
  const store = await sqliteStore({ file, clock: Date.now, deadlines: PATIENT })
  await store[Symbol.asyncDispose]()
  const bytes = await readFile(file)
  await rm(folder, { recursive: true })
  return bytes
}

/** Opens the store of a data folder as another process does. */
export async function openTestStore({ folder, ...options }: StoreOptions): Promise<Store> {
  if (ENGINES === 'fleet') {
    const { postgresStore } = await import('../../server/store/postgres/postgres.ts')
    const store = await postgresStore({ url: (await locate(folder)).databaseUrl, timeouts: PATIENT_TIMEOUTS })
    return { ...store, clock: options.clock }
  }
  const store = await sqliteStore({
    file: join(folder, 'slipway.db'),
    deadlines: PATIENT,
    ...options,
  })
  return ENGINES === 'repeated-writes' ? repeatWrites(store) : store
}

/** Opens the blobs of a data folder. */
export async function openTestBlobs({ folder, clock }: StoreOptions): Promise<Blobs> {
  if (ENGINES !== 'fleet') return diskBlobs({ folder: join(folder, 'blobs'), bootId: 'test', clock })
  const { s3Blobs } = await import('../../server/blobs/s3/s3.ts')
  const { parseBucketUrl } = await import('../../packages/s3-client/bucket-url.ts')
  const bucket = parseBucketUrl((await locate(folder)).blobsUrl)
  return s3Blobs({ bucket, clock, metrics: new Metrics(), timeouts: PATIENT.blobs })
}

/** Opens the tables of a data folder, for statements that the service does not have. */
export async function openTestTables(folder: string): Promise<Tables> {
  if (ENGINES !== 'fleet') return sqliteTables(join(folder, 'slipway.db'), { isSource: false })
  const { postgresTables } = await import('../../server/store/postgres/tables.ts')
  return postgresTables((await locate(folder)).databaseUrl, { isSource: false })
}

/** All that the database of a data folder has: the files of SQLite, with what is deleted, or the rows of PostgreSQL. */
export async function dumpDatabase(folder: string): Promise<string> {
  if (ENGINES !== 'fleet') {
    const files = (await readdir(folder)).filter((name) => name.startsWith('slipway.db'))
    return (await Promise.all(files.map((name) => readFile(join(folder, name), 'latin1')))).join('\n')
  }
  await using tables = await openTestTables(folder)
  const dumps: string[] = []
  for (const table of [...Object.keys(TABLES), 'changes']) {
    const { rows } = await sql<object>`select * from ${sql.table(table)}`.execute(tables.db)
    dumps.push(JSON.stringify(rows))
  }
  return dumps.join('\n')
}

/** Independent of the load of the test machine. */
export const PATIENT_TIMEOUTS = PATIENT.database

/** The environment variable that makes a service which a test starts as a process patient. */
export const PATIENT_ENVIRONMENT = { TEST_DEADLINES: JSON.stringify(PATIENT) }

const locations = new Map<string, Promise<Location>>()

function locate(folder: string): Promise<Location> {
  const known = locations.get(folder) ?? createLocation()
  locations.set(folder, known)
  return known
}

async function createLocation(): Promise<Location> {
  const { createDatabase } = await import('../tools/postgres.ts')
  return {
    databaseUrl: await createDatabase(process.env.TEST_DATABASE_URL!),
    blobsUrl: process.env.TEST_BLOBS_URL!.replace('?', `-${randomUUID()}?`),
  }
}
