import { existsSync, rmSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { sql } from '#kysely'
import { makeFolder } from '../../packages/files/make-folder.ts'
import type { Ballast } from '../blobs/disk-reserve.ts'
import { DEADLINES, type Deadlines } from '../lib/deadlines.ts'
import { ApiError, databaseUnavailable, diskFailed, diskFull } from '../lib/errors.ts'
import type { Incidents } from '../lib/incidents.ts'
import type { ChangeEffect } from '../lib/loading-cache.ts'
import type { Metrics } from '../lib/metrics.ts'
import { settlesWithin } from '../lib/settles-within.ts'
import { MINUTE_MS } from '../lib/time.ts'
import { CommitWatch } from './commit-watch.ts'
import { FlushedReads, failureFile } from './flushed-reads.ts'
import { migrate } from './migrate.ts'
import { createQueries } from './queries.ts'
import { migrateWithCopy, type UpgradeOptions } from './sqlite-copy.ts'
import { createKysely } from './sqlite-dialect.ts'
import { statement } from './statement.ts'
import {
  type ChangeEffects,
  type ChangeListener,
  ChangeSet,
  type Durability,
  NO_EFFECTS,
  type Store,
  type WriteTransaction,
} from './store.ts'
import type { Tables } from './transfer.ts'

interface SqliteOptions {
  file: string
  /** Milliseconds since 1970. */
  clock: () => number
  /** Interval of the polls for changes of other processes; the contract allows a second. */
  pollIntervalMs?: number
  /** Copies the database before a migration changes it. */
  upgrade?: UpgradeOptions
  ballast?: Pick<Ballast, 'retry'>
  /** `databaseLock`: how long a write waits for those of other processes before the store counts as overloaded. */
  deadlines?: Pick<Deadlines, 'database' | 'databaseLock'>
  metrics?: Metrics
  incidents?: Incidents
  /** Resolves when the other processes of the service show what is committed, or after a second. */
  broadcastInvalidation?: ((effects: ChangeEffects) => Promise<void>) | undefined
}

const POLL_INTERVAL_MS = 200

const PAGE_BYTES = 4096

/** How long a start waits for that of another process, which may copy and migrate a large database. */
const OPEN_TIMEOUT_MS = 2 * MINUTE_MS

const MAX_RETRY_DELAY_MS = 16

/** After this time a transaction takes no further write: results and other processes wait for its end. */
const MAX_SHARED_MS = 50

const CHANGES_RETENTION_MS = 10 * MINUTE_MS

/** Changes after which those past their retention are deleted, twice as many at most. */
const TRIM_EVERY = 64

/** Size of the log from which it is moved into the database, and by how much it grows before that is tried again. */
export const FULL_LOG_BYTES = 16 * 2 ** 20
const LOG_GROWTH_BYTES = 4 * 2 ** 20

/**
 * The store in one SQLite file. One connection writes, one transaction after another; others read, so that a read never
 * sees a partial write and never waits for one. A write resolves when a flush of the log has ended that further ones may
 * share, and reads of this process see it from then on. Processes on the same file notice each other's changes through
 * `PRAGMA data_version` and the table `changes`.
 */
export async function sqliteStore(options: SqliteOptions): Promise<Store> {
  const { clock, ballast, pollIntervalMs = POLL_INTERVAL_MS } = options
  const { databaseLock, database: timeouts } = options.deadlines ?? DEADLINES
  const commits = new CommitWatch({ ...options, timeouts })
  const { writer, watcher, reads } = await openConnections(options, commits)
  const writing = createKysely(() => writer)
  const reading = createKysely(
    () => reads.connection,
    withTranslatedErrors,
    () => reads.untilCurrent(),
  )

  const listeners = new Set<ChangeListener>()
  /** Without a set, anything may have changed. */
  const notifyListeners = async (changed: ChangeSet | undefined, own: boolean) => {
    if (changed?.size === 0) return
    const { names, effects = NO_EFFECTS } = changed ?? {}
    await Promise.all([...listeners].map((listener) => listener(names, own, effects)))
  }
  let seen = getNewestChange(reads.connection)
  /** Changes of this process that `pollChanges` must skip: listeners are notified by the write itself. */
  const own = new Set<number>()
  let polledVersion: unknown
  const queued: QueuedWrite[] = []
  let last: Promise<unknown> = Promise.resolve()
  let checkpointBytes = FULL_LOG_BYTES
  let pollsFailSince: number | undefined

  /**
   * The writes of one turn of the event loop share a transaction of SQLite, so that the log gets pages that several of them
   * change once. When one fails, nothing of it stays, and each is repeated in a transaction of its own.
   */
  async function commitQueued(writes = queued.splice(0)): Promise<void> {
    const attempt = () => transaction(writes)
    try {
      const ends = await (ballast ? ballast.retry(attempt, isDiskFull) : attempt())
      for (const end of ends) end()
      if (ends.length < writes.length) await commitQueued(writes.slice(ends.length))
    } catch (error) {
      if (isFailedFlush(error)) reads.fail(error)
      if (writes.length > 1) for (const write of writes) await commitQueued([write])
      else writes[0]!.reject(error)
    }
  }

  /** Returns what tells the callers of the first writes their results, of at least one. */
  async function transaction(writes: readonly QueuedWrite[]): Promise<(() => void)[]> {
    assertNoFailedFlush()
    const { deadline } = writes[0]!
    if (isCheckpointDue()) {
      await beginImmediate(writer, deadline)
      await checkpoint().finally(() => writer.exec('rollback'))
    }
    await beginImmediate(writer, deadline)
    try {
      const ends: (() => void)[] = []
      const began = performance.now()
      for (const write of writes) {
        ends.push(await runWrite(write))
        if (performance.now() - began > MAX_SHARED_MS) break
      }
      writer.exec('commit')
      return ends
    } finally {
      if (writer.isTransaction) writer.exec('rollback')
    }
  }

  async function runWrite({ durability, work, resolve }: QueuedWrite): Promise<() => void> {
    if (durability !== 'unread') commits.signal.throwIfAborted()
    const changed = new ChangeSet()
    const notifyChanged: WriteTransaction['notifyChanged'] = async (name, effect) => changed.add(name, effect)
    const result = await work(Object.assign(createQueries(writing), { notifyChanged }))
    const written: number[] = []
    const at = clock()
    for (const [name, effect] of changed.effects) {
      written.push((await ADD_CHANGE(writing, name, effect, at))[0]!.seq)
    }
    if (written.some((seq) => seq % TRIM_EVERY === 0)) await TRIM_CHANGES(writing, at - CHANGES_RETENTION_MS)
    return () => {
      for (const seq of written) own.add(seq)
      resolve({ result, changed, written })
    }
  }

  function assertNoFailedFlush(): void {
    if (reads.failure !== undefined) throw diskFailed(reads.failure)
  }

  function isCheckpointDue(): boolean {
    const bytes = reads.logBytes
    if (bytes <= FULL_LOG_BYTES) checkpointBytes = FULL_LOG_BYTES
    return bytes > checkpointBytes && !commits.signal.aborted
  }

  /**
   * SQLite begins its log anew when all of it is in the database and no read needs it, and there is always a state that is
   * shown. So while no process can write, all show the newest state, the log is moved, and all show that state again,
   * which they then read from the database.
   */
  async function checkpoint(): Promise<void> {
    // A command that has the database open learns of it by its polls.
    const pollsMs = checkpointBytes > FULL_LOG_BYTES ? 2 * POLL_INTERVAL_MS : 0
    checkpointBytes = reads.logBytes + LOG_GROWTH_BYTES
    const showEverywhere = () => {
      const siblings = options.broadcastInvalidation?.(NO_EFFECTS)
      return settlesWithin(timeouts.hang, Promise.all([reads.showNewest(), siblings, pause(pollsMs)]))
    }
    if (!(await showEverywhere())) return
    assertNoFailedFlush()
    try {
      watcher.exec('PRAGMA wal_checkpoint(PASSIVE)')
    } catch (error) {
      // Such as a full disk: the log stays, and the write that waits needs no checkpoint.
      if (isFailedFlush(error)) throw error
    }
    await showEverywhere()
  }

  /** When all commits are on the disk and shown, also those that a failed write has read. UNAVAILABLE if late. */
  async function flush(): Promise<void> {
    const shown = reads.showNewest()
    if (!(await settlesWithin(timeouts.commit, shown)))
      throw databaseUnavailable(new Error(`the disk has not confirmed a commit within ${timeouts.commit} ms`))
    await shown.catch((error: unknown) => {
      assertNoFailedFlush()
      translateError(error)
    })
  }

  async function pollChanges(): Promise<void> {
    if (!reads.isNewest || reads.logBytes > FULL_LOG_BYTES) await reads.showNewest()
    if (reads.shownVersion === polledVersion) return
    const { oldest, newest } = reads.connection
      .prepare('SELECT min(seq) AS oldest, max(seq) AS newest FROM changes')
      .get() as Record<'oldest' | 'newest', number | null>
    if (newest === null || newest === seen) {
      polledVersion = reads.shownVersion
      return
    }
    const missed = oldest !== null && oldest > seen + 1
    const rows = reads.connection
      .prepare('SELECT seq, name, effect FROM changes WHERE seq > ?')
      .all(seen) as { seq: number; name: string; effect: string }[]
    polledVersion = reads.shownVersion
    seen = newest
    const others = new ChangeSet()
    for (const { name, effect } of rows.filter((row) => !own.delete(row.seq))) others.add(name, effect)
    await notifyListeners(missed ? undefined : others, false)
  }

  const poll = setInterval(
    () =>
      void pollChanges().then(
        () => {
          pollsFailSince = undefined
        },
        () => {
          pollsFailSince ??= performance.now()
        },
      ),
    pollIntervalMs,
  ).unref()

  async function write<T>(durability: Durability, work: (tx: WriteTransaction) => Promise<T>): Promise<T> {
    const committed = new Promise<Committed<unknown>>((resolve, reject) => {
      queued.push({ durability, work, deadline: performance.now() + databaseLock, resolve, reject })
    }) as Promise<Committed<T>>
    if (queued.length === 1) last = last.then(() => nextTurn()).then(() => commitQueued())
    if (durability === 'unread') return (await committed.catch(translateError)).result
    const { result, changed, written } = await committed.catch(async (error: unknown) => {
      if (!(error instanceof ApiError && error.code === 'UNAVAILABLE')) await flush()
      translateError(error)
    })
    try {
      await flush()
    } catch (error) {
      // It can still take effect; then a poll notifies the listeners, unless one has skipped the changes already.
      const isSkipped = written.map((seq) => own.delete(seq)).includes(false)
      if (isSkipped) await notifyListeners(changed, true)
      throw error
    }
    if (changed.size > 0) await notifyListeners(changed, true)
    else await options.broadcastInvalidation?.(NO_EFFECTS)
    return result
  }

  const read = createQueries(reading)
  return {
    read,
    patient: read,
    newest: createQueries(createKysely(() => watcher, withTranslatedErrors)),
    clock,

    // The lock of the file orders all writes, whatever their scope.
    write: (durability, _scope, work) => write(durability, work),

    execute: write,

    onChange: (forget) => void listeners.add(forget),

    pollChanges,

    silenceMs: () => (pollsFailSince === undefined ? 0 : performance.now() - pollsFailSince),

    readWaitMs: () => 0,
    assertAnswering: () => undefined,

    async check() {
      assertNoFailedFlush()
      try {
        reads.connection.prepare('SELECT 1 FROM accounts LIMIT 1').get()
      } catch (error) {
        throw databaseUnavailable(error)
      }
    },

    async [Symbol.asyncDispose]() {
      clearInterval(poll)
      await last
      // SQLite would wait for a disk that does not answer.
      if (!writer.isOpen || !(await settlesWithin(timeouts.hang, reads.showNewest()))) return
      for (const db of [watcher, writer]) db.close()
      reads.close()
    },
  }
}

interface QueuedWrite {
  durability: Durability
  work(tx: WriteTransaction): Promise<unknown>
  deadline: number
  resolve(committed: Committed<unknown>): void
  reject(error: unknown): void
}

interface Committed<T> {
  result: T
  changed: ChangeSet
  /** The numbers of its changes. */
  written: readonly number[]
}

export function isOpenElsewhere(file: string): boolean {
  if (!existsSync(file)) return false
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    // Without a shared index of the log, the first access needs the exclusive lock of the file.
    database.exec('PRAGMA locking_mode = EXCLUSIVE; SELECT 1 FROM sqlite_master')
    return false
  } catch (error) {
    if (resultCode(error) === SQLITE_BUSY) return true
    throw error
  } finally {
    database.close()
  }
}

/** The tables of a migrated database; those of a source as they are now, whatever is written later. */
export async function sqliteTables(file: string, { isSource }: { isSource: boolean }): Promise<Tables> {
  const database = await openConnection(file, performance.now() + DEADLINES.databaseLock)
  database.exec(`PRAGMA busy_timeout = ${DEADLINES.databaseLock}`)
  if (isSource) database.exec('begin')
  return { db: createKysely(() => database), [Symbol.asyncDispose]: async () => database.close() }
}

async function openConnections(options: SqliteOptions, commits: CommitWatch) {
  const { file, ballast } = options
  const isFull = (error: unknown) => isDiskFull(error) || lacksInodes(error, dirname(file))
  const open = () => tryOpen(options, commits)
  try {
    return await (ballast ? ballast.retry(open, isFull) : open())
  } catch (error) {
    if (error instanceof ApiError) throw error
    const reason = isFull(error) ? 'the disk is full, make room' : (error as Error).message
    throw new ApiError('UNAVAILABLE', `The database ${file} cannot be opened: ${reason}`, { cause: error })
  }
}

async function tryOpen({ file, upgrade, deadlines = DEADLINES }: SqliteOptions, commits: CommitWatch) {
  const deadline = performance.now() + OPEN_TIMEOUT_MS
  using opened = new DisposableStack()
  const openOne = async () => opened.adopt(await openConnection(file, deadline), (one) => one.close())
  makeFolder(dirname(file))
  const writer = await openOne()
  settleLog(writer, file)
  await beginImmediate(writer, deadline)
  const db = createKysely(() => writer)
  await (upgrade ? migrateWithCopy(db, file, upgrade) : migrate(db))
  writer.exec('PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY')
  const [watcher, ...readers] = [await openOne(), await openOne(), await openOne()] as const
  // A reader meets a lock only for the milliseconds in which another process recovers the log of a crashed one.
  // A read that writes would hold the lock as long as its state is shown.
  for (const reader of [watcher, ...readers])
    reader.exec(`PRAGMA busy_timeout = ${deadlines.databaseLock}; PRAGMA query_only = ON`)
  const reads = await FlushedReads.open(
    file,
    { writer, watcher, readers },
    { commits, refreshMs: deadlines.database.refresh },
  )
  opened.move()
  return { writer, watcher, reads }
}

/**
 * After a failed flush the log may have transactions that are not on the disk, and further flushes succeed. A start that has
 * the database alone moves the log into it and flushes that; beside the process that failed it is refused.
 */
function settleLog(writer: DatabaseSync, file: string): void {
  try {
    const { busy } = writer.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }
    if (busy === 0) rmSync(failureFile(file), { force: true })
  } catch (error) {
    // On a full disk the log stays.
    if (isFailedFlush(error)) throw error
  }
  if (existsSync(failureFile(file)))
    throw diskFailed(new Error('a flush of the database has failed in another process'))
}

/** A log that begins anew is cut to `journal_size_limit`. `secure_delete` overwrites deleted rows: an expired secret must not remain in the file. */
async function openConnection(file: string, deadline: number): Promise<DatabaseSync> {
  const db = new DatabaseSync(file, { timeout: 0 })
  await retryWhileBusy(deadline, () =>
    db.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -8192;
       PRAGMA wal_autocheckpoint = ${FULL_LOG_BYTES / PAGE_BYTES}; PRAGMA journal_size_limit = ${FULL_LOG_BYTES};
       PRAGMA secure_delete = FAST`,
    ),
  )
  return db
}

/** Begins a transaction with the write lock, so that it cannot fail for lack of it later. */
function beginImmediate(writer: DatabaseSync, deadline: number): Promise<void> {
  return retryWhileBusy(deadline, () => writer.exec('begin immediate'))
}

/** Until `deadline` on the monotonic clock, without blocking the event loop. */
async function retryWhileBusy(deadline: number, work: () => void): Promise<void> {
  for (let delayMs = 1; ; delayMs = Math.min(2 * delayMs, MAX_RETRY_DELAY_MS)) {
    try {
      return work()
    } catch (error) {
      if (resultCode(error) !== SQLITE_BUSY || performance.now() >= deadline) throw error
    }
    await pause(delayMs)
  }
}

const ADD_CHANGE = statement((db, name: string, effect: ChangeEffect, at: number) =>
  db.insertInto('changes').values({ name, effect, at }).returning('seq'),
)

/** The newest row stays, so that no number is given twice. */
const TRIM_CHANGES = statement((db, before: number) =>
  db
    .deleteFrom('changes')
    .where('seq', '<', sql<number>`(select min(seq) from changes) + ${sql.lit(2 * TRIM_EVERY)}`)
    .where('at', '<', before),
)

function getNewestChange(db: DatabaseSync): number {
  return (db.prepare('SELECT coalesce(max(seq), 0) AS seq FROM changes').get() as { seq: number }).seq
}

const SQLITE_BUSY = 5
const SQLITE_FULL = 13
const SQLITE_CANTOPEN = 14
/** Busy, locked, read-only, I/O error, corrupt (a failed read may be reported so), cannot open, not a database. */
const UNAVAILABLE_CODES = new Set([5, 6, 8, 10, 11, 14, 26])

function withTranslatedErrors<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    translateError(error)
  }
}

function translateError(error: unknown): never {
  if (isDiskFull(error)) throw diskFull(error)
  const code = resultCode(error)
  throw code !== undefined && UNAVAILABLE_CODES.has(code) ? databaseUnavailable(error) : error
}

/** An index of the log that cannot be created counts as well: SQLITE_IOERR_SHMSIZE. */
export function isDiskFull(error: unknown): boolean {
  return resultCode(error) === SQLITE_FULL || (error as { errcode?: number } | undefined)?.errcode === 4874
}

/** The log and its index, which the last process of an orderly stop removes, cannot be created. */
function lacksInodes(error: unknown, folder: string): boolean {
  if (resultCode(error) !== SQLITE_CANTOPEN) return false
  const { files, ffree } = statfsSync(folder)
  return files > 0 && ffree === 0
}

/** SQLITE_IOERR_FSYNC and SQLITE_IOERR_DIR_FSYNC. */
function isFailedFlush(error: unknown): boolean {
  const { errcode } = (error ?? {}) as { errcode?: number }
  return errcode === 1034 || errcode === 1290
}

function resultCode(error: unknown): number | undefined {
  const extended = (error as { errcode?: number } | undefined)?.errcode
  return extended === undefined ? undefined : extended & 0xff
}
