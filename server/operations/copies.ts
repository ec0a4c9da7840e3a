import { randomUUID } from 'node:crypto'
import { mkdir, rm, stat } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { parseBucketUrl } from '../../packages/s3-client/bucket-url.ts'
import {
  assertSameFleet,
  type Database,
  inDataFolder,
  openAnyDatabase,
  openBlobs,
  openDatabase,
  type StartOptions,
} from '../backends.ts'
import type { Blobs } from '../blobs/blobs.ts'
import { assertDataFolder, BACKUP_FOLDER, type DataFolder, prepareDataFolder } from '../config/data-folder.ts'
import { bucketUrl, readValue } from '../config/setting-types.ts'
import { type Config, ConfigError } from '../config/settings.ts'
import { COPYING_BLOBS, DEADLINES } from '../lib/deadlines.ts'
import { toStorageError } from '../lib/errors.ts'
import { type Secrets, Signer } from '../lib/tokens.ts'
import { isDiskFull, isOpenElsewhere, sqliteStore, sqliteTables } from '../store/sqlite.ts'
import { INDEPENDENT, type Store } from '../store/store.ts'
import { BACKUP_RUN } from '../store/tables/jobs.ts'
import type { Tables } from '../store/transfer.ts'
import type { BackupOptions, BackupProgress } from './backup/backup.ts'
import type { BackupManifest } from './backup/manifest.ts'
import type { PruneResult } from './backup/prune.ts'
import { BackupError, type BackupTarget } from './backup/target.ts'
import type { MoveOptions, MoveResult, Storage } from './move.ts'

export type StorageSettings = Pick<Config, 'data' | 'databaseUrl' | 'blobsUrl'>

export async function moveData(
  config: Config,
  to: StorageSettings,
  { report, ...startOptions }: StartOptions & Pick<MoveOptions, 'report'>,
): Promise<MoveResult> {
  await using stack = new AsyncDisposableStack()
  const source = stack.use(await openStorage(config, startOptions, { isSource: true }))
  const [secret] = [source.secret].flat()
  const targetConfig = { ...config, ...to, secret: secret! }
  const target = stack.use(await openStorage(targetConfig, startOptions, { isSource: false }))
  const sourceId = new Signer(source.secret, 'move').sign(['source'])
  const { move } = await import('./move.ts')
  const now = { source: source.clock(), target: target.clock() }
  return await move({ source, target, sourceId, now, report })
}

export interface BackupRun extends StartOptions, Pick<BackupOptions, 'report'> {
  target: string
  withSecret: boolean
  /** Accepts a target whose newest backup is of another service. */
  otherService?: boolean
  /** Backups that the target keeps; 0 keeps all. */
  keep: number
}

/** Then deletes earlier backups there. BackupError when the target fails; the reason of `signal` when it aborts. */
export async function backUpData(config: Config, run: BackupRun): Promise<BackupResult> {
  assertBackedUpHere(config, run.target)
  await using stack = new AsyncDisposableStack()
  const database = await openServiceDatabase(config, run)
  const { store } = database
  stack.use(store)
  return await recordRun({ store, config, ...run }, () =>
    withSpaceErrors(config.data, () => backUpInto(config, database, run)),
  )
}

type BackupResult = BackupManifest & BackupProgress & { pruned: PruneResult | undefined }

async function backUpInto(
  config: Config,
  database: Database,
  { target: to, withSecret, otherService, keep, report, ...startOptions }: BackupRun,
): Promise<BackupResult> {
  const { BackupLease, backUp } = await import('./backup/backup.ts')
  const { assertNewestOf } = await import('./backup/manifest.ts')
  const { pruneAfter } = await import('./backup/prune.ts')
  const { copySqlite } = await import('../store/sqlite-copy.ts')
  const { Snapshot } = await import('../store/transfer.ts')
  const target = await openBackupTarget(to, 'create it once, on the disk that it belongs to')
  await using stack = new AsyncDisposableStack()
  const { store, folder, secret } = database
  const service = await identify(store)
  if (!otherService) await assertNewestOf(target, service)
  const blobs = await openBlobsOf(config, database, startOptions)
  const lease = stack.use(await BackupLease.acquire(store))
  const workFolder = join(config.data, BACKUP_FOLDER)
  const removeWork = () => rm(workFolder, { recursive: true, force: true })
  // What a backup that was killed has left.
  await removeWork()
  await mkdir(workFolder)
  stack.defer(removeWork)
  const copy = join(workFolder, 'slipway.db')
  await blobs.assertLocalSpace(2 * (await stat(folder.database)).size)
  await copySqlite(folder.database, copy)
  const tables = stack.use(await sqliteTables(copy, { isSource: true }))
  const made = await backUp({
    ...{ target, signal: startOptions.signal },
    database: copy,
    snapshot: new Snapshot(tables),
    at: store.clock(),
    blobs,
    lease,
    workFolder,
    release: startOptions.version,
    service,
    secret: withSecret ? [secret].flat()[0] : undefined,
    report,
  })
  // Within the lease: another backup would lose the files that it has copied.
  await lease.assertHeld()
  return { ...made, pruned: await pruneAfter(target, made, keep) }
}

/** The id of the service: it stays with its data when they are restored or moved. */
function identify(store: Store): Promise<string> {
  return store.write('durable', INDEPENDENT, async ({ operatorSettings }) => {
    const known = (await operatorSettings.find('service')) as { id: string } | undefined
    if (known) return known.id
    const id = randomUUID()
    await operatorSettings.put('service', { id })
    return id
  })
}

/** Copies files from the service that the target has lost. Returns the hashes of those it has now; others are a failure. */
export async function repairBackup(
  config: Config,
  { target, hashes, ...startOptions }: StartOptions & { target: string; hashes: readonly string[] },
): Promise<string[]> {
  assertBackedUp(config)
  const { BackupLease } = await import('./backup/backup.ts')
  const { repair } = await import('./backup/verify.ts')
  await using stack = new AsyncDisposableStack()
  const database = await openServiceDatabase(config, startOptions)
  const store = stack.use(database.store)
  const blobs = await openBlobsOf(config, database, startOptions)
  stack.use(await BackupLease.acquire(store))
  const startedAt = store.clock()
  const repaired = await repair(await openBackupTarget(target), { store, blobs }, hashes)
  const lost = hashes.length - repaired.length
  const run = { startedAt, items: 0, error: `lost or damaged files of a backup: ${lost}` }
  if (lost > 0) await recordOutcome({ store, config, target, ...startOptions }, run)
  return repaired
}

/** Records why a verification that repairs could not be completed: no other run of the timer may notice it. */
export async function recordFailure<T>(
  config: Config,
  run: StartOptions & { target: string },
  verify: () => Promise<T>,
): Promise<T> {
  return verify().catch(async (failure: Error) => {
    try {
      const { store } = await openServiceDatabase(config, run)
      await using _ = store
      const outcome = { startedAt: store.clock(), items: 0, error: failure.message }
      await recordOutcome({ store, config, ...run }, outcome)
    } catch (error) {
      run.log.warn('the failed verification could not be recorded', { error })
    }
    throw failure
  })
}

function assertBackedUp({ databaseUrl, data }: Config): void {
  if (databaseUrl !== '')
    throw new ConfigError(
      'SLIPWAY_DATABASE_URL is set: back up PostgreSQL with its own tools, as docs/scale.md describes under "Backup".',
    )
  assertDataFolder(data)
}

function assertBackedUpHere(config: Config, target: string): void {
  assertBackedUp(config)
  const path = relative(config.data, resolve(target))
  if (!isBucketUrl(target) && !path.startsWith('..'))
    throw new ConfigError(`${target} is in the data folder. Use a folder on another disk, or a bucket.`)
}

/** A folder, or a bucket as in SLIPWAY_BLOBS_URL. */
export async function openBackupTarget(
  target: string,
  advice = 'check its path, and that its disk is mounted',
): Promise<BackupTarget> {
  if (isBucketUrl(target)) {
    const { S3Target } = await import('./backup/s3-target.ts')
    return new S3Target(parseBucketUrl(readValue('TARGET', bucketUrl(''), target)))
  }
  const { FolderTarget } = await import('./backup/folder-target.ts')
  return FolderTarget.open(resolve(target), advice)
}

function isBucketUrl(target: string): boolean {
  return target.startsWith('s3:')
}

export interface RestoreRun extends StartOptions, Pick<MoveOptions, 'report'> {
  target: BackupTarget
  manifest: BackupManifest
  /** Restores sessions, the access of programs and review links too: some may have ended since the backup. */
  withSessions?: boolean
}

/** Into a new data folder, or the database and the bucket of `config`. A second run continues an interrupted one. */
export async function restoreData(config: Config, run: RestoreRun): Promise<MoveResult> {
  return withSpaceErrors(config.data, () => restoreInto(config, run))
}

async function restoreInto(
  config: Config,
  { target, manifest, withSessions, report, ...startOptions }: RestoreRun,
): Promise<MoveResult> {
  const { beginRestore, toBlobSource } = await import('./backup/restore.ts')
  const { claimTarget, Snapshot } = await import('../store/transfer.ts')
  const { hasFiles, move } = await import('./move.ts')
  const { database, secret, fetchDatabase, finish } = await beginRestore(target, manifest, config.data)
  await using stack = new AsyncDisposableStack()
  const targetConfig = { ...config, secret }
  const restored = stack.use(await openStorage(targetConfig, startOptions, { isSource: false }))
  const sourceId = `${manifest.time} ${manifest.database.hash}`
  // From now on, no service starts on the folder before it is complete.
  await claimTarget(restored.tables, sourceId, () => hasFiles(restored.blobs))
  await fetchDatabase()
  // Migrates it, or refuses that of a newer release.
  await (await sqliteStore({ file: database, clock: Date.now }))[Symbol.asyncDispose]()
  {
    await using tables = await sqliteTables(database, { isSource: false })
    const snapshot = new Snapshot(tables)
    await snapshot.discardEncodings()
    if (!withSessions) await snapshot.discardSessions()
  }
  const tables = stack.use(await sqliteTables(database, { isSource: true }))
  const result = await move({
    source: { tables, blobs: toBlobSource(target) },
    target: restored,
    sourceId,
    now: { source: restored.clock(), target: restored.clock() },
    report,
  })
  await finish()
  return result
}

/** ConfigError when this command would copy another secret or other files than those of the service. */
async function openServiceDatabase(config: Config, startOptions: StartOptions): Promise<Database> {
  const database = await openDatabase(config, startOptions)
  await assertSameFleet(config, database, 'storage')
  return database
}

async function openStorage(
  config: Config,
  startOptions: StartOptions,
  { isSource }: { isSource: boolean },
): Promise<Storage & { secret: Secrets; clock: () => number } & AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  if (config.databaseUrl === '') await assertClosed(config, isSource ? 'source' : 'target')
  const open = isSource ? openServiceDatabase : openAnyDatabase
  const database = await open(config, startOptions)
  const { folder, store, secret } = database
  const { clock } = stack.use(store)
  const blobs = await openBlobsOf(config, database, startOptions)
  const tables = stack.use(await openTables(config, folder, { isSource }))
  const opened = stack.move()
  return { tables, blobs, secret, clock, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

function openBlobsOf(
  config: Config,
  database: Database,
  { deadlines = DEADLINES, ...startOptions }: StartOptions,
): Promise<Blobs> {
  const blobs = { ...COPYING_BLOBS, request: deadlines.blobs.request }
  return openBlobs(config, database, { ...startOptions, deadlines: { ...deadlines, blobs } })
}

/** A service on a data folder reports no nodes, but keeps its database open. */
async function assertClosed(config: Config, name: string): Promise<void> {
  const { database } = inDataFolder(config, () => prepareDataFolder(config.data, config.secret))
  if (!isOpenElsewhere(database)) return
  const { DatabaseInUseError } = await import('../store/transfer.ts')
  throw new DatabaseInUseError(`The ${name} is in use: a service or a command has ${database} open`)
}

async function openTables(
  { databaseUrl }: Config,
  { database }: DataFolder,
  options: { isSource: boolean },
): Promise<Tables> {
  if (databaseUrl === '') return sqliteTables(database, options)
  const { postgresTables } = await import('../store/postgres/tables.ts')
  return postgresTables(databaseUrl, options)
}

/** BackupError when the disk of the data folder is full: the messages of the service are for publishers. */
async function withSpaceErrors<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof BackupError || !isFull(error)) throw error
    const sentence = `The disk of ${folder} has too little free space besides SLIPWAY_DISK_RESERVE. Make room there, or lower that setting for this command, and run it again.`
    throw new BackupError(sentence, { cause: error })
  }
}

function isFull(error: unknown): boolean {
  const { code } = error as { code?: string }
  return code === 'INSUFFICIENT_STORAGE' || isDiskFull(error) || toStorageError(error) !== undefined
}

type RecordParts = Pick<BackupRun, 'log' | 'target'> & { store: Store; config: Config }

/** Lost files count as a failure. */
async function recordRun<T extends { copiedFiles: number; damaged: readonly string[] }>(
  parts: RecordParts,
  backUp: () => Promise<T>,
): Promise<T> {
  const startedAt = parts.store.clock()
  const made = await backUp().catch(async (error: Error) => {
    await recordOutcome(parts, { startedAt, items: 0, error: error.message })
    throw error
  })
  const { damaged, copiedFiles: items } = made
  const error = damaged.length === 0 ? null : `Lost or damaged files: ${damaged.length}`
  await recordOutcome(parts, { startedAt, items, error })
  return made
}

/** The metrics of the service show it: only runs to the target of the settings, or they would hide failures of its timer. */
async function recordOutcome(
  { store, log, target, config: { backupTarget } }: RecordParts,
  run: { startedAt: number; items: number; error: string | null },
): Promise<void> {
  if (backupTarget !== '' && resolve(backupTarget) !== resolve(target)) return
  const row = { name: BACKUP_RUN, durationMs: store.clock() - run.startedAt, ...run }
  await store
    .execute('relaxed', ({ sweepRuns }) => sweepRuns.record(row))
    .catch((cause: unknown) => log.warn('the run of the backup could not be recorded', { error: cause }))
}
