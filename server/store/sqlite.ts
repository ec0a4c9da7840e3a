import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { Kysely, SqliteDialect, type SqliteStatement } from 'kysely'
import { diskFailed, diskFull, Failure } from '../failure.ts'
import { migrate } from './migrate.ts'
import { queriesOver } from './queries.ts'
import type { Schema } from './schema.ts'
import type { Durability, Forget, Store, Writing } from './store.ts'

interface SqliteOptions {
  file: string
  /** Milliseconds since 1970. */
  clock: () => number
  /** How often changes of other processes are looked for; the contract allows a second. */
  pollMilliseconds?: number
  /** How long a write waits for those of other processes before the store counts as too busy. */
  busyMilliseconds?: number
}

const BUSY_MILLISECONDS = 5000

/** The longest pause between two tries for the write lock. */
const LONGEST_PAUSE = 16

const CHANGES_KEPT_MILLISECONDS = 10 * 60_000

/**
 * The store in one SQLite file. One connection writes, one transaction after another; a second one reads, so
 * that a read never sees a write half done and never waits for it. Processes on the same file hear of each
 * other's changes through `PRAGMA data_version` and the table `changes`.
 */
export async function sqliteStore(options: SqliteOptions): Promise<Store> {
  const { file, clock, pollMilliseconds = 200, busyMilliseconds = BUSY_MILLISECONDS } = options
  const patience = () => performance.now() + busyMilliseconds
  const { writer, reader } = await open(file, patience())
  // A reader meets a lock only while another process mends what a killed one left, which takes milliseconds.
  reader.exec(`PRAGMA busy_timeout = ${busyMilliseconds}`)
  const writing = kyselyOver(writer)
  const reading = kyselyOver(reader, explained)

  const listeners = new Set<Forget>()
  const tell = async (slugs: readonly string[] | undefined, own: boolean) => {
    if (slugs?.length === 0) return
    await Promise.all([...listeners].map((listener) => listener(slugs, own)))
  }
  let seen = newestChange(reader)
  /** Changes of this process that `catchUp` has yet to come past: they were told when they were made. */
  const own = new Set<number>()
  let dataVersion = dataVersionOf(reader)
  let last: Promise<unknown> = Promise.resolve()
  let durability: Durability = 'durable'
  let flushFailure: unknown

  async function transaction<T>(
    wanted: Durability,
    work: (tx: Writing) => Promise<T>,
    until: number,
  ): Promise<[T, string[]]> {
    refuseAfterFailedFlush()
    if (wanted !== durability) {
      writer.exec(`PRAGMA synchronous = ${wanted === 'durable' ? 'FULL' : 'NORMAL'}`)
      durability = wanted
    }
    await lock(writer, until)
    const changed = new Set<string>()
    const written: number[] = []
    const result = await writing.transaction().execute(async (trx) => {
      const result = await work({
        ...queriesOver(trx),
        changed: async (slug) => {
          changed.add(slug)
        },
      })
      const at = clock()
      for (const slug of changed) {
        const { seq } = await trx
          .insertInto('changes')
          .values({ slug, at })
          .returning('seq')
          .executeTakeFirstOrThrow()
        written.push(seq)
      }
      if (changed.size > 0) {
        await trx
          .deleteFrom('changes')
          .where('at', '<', at - CHANGES_KEPT_MILLISECONDS)
          .execute()
      }
      return result
    })
    for (const seq of written) own.add(seq)
    return [result, [...changed]]
  }

  /** What was written before a failed flush may be lost although it reads well, so nothing may be built upon it. */
  function refuseAfterFailedFlush(): void {
    if (flushFailure !== undefined) throw diskFailed(flushFailure)
  }

  async function catchUp(): Promise<void> {
    const version = dataVersionOf(reader)
    if (version === dataVersion) return
    dataVersion = version
    const { oldest, newest } = reader
      .prepare('SELECT min(seq) AS oldest, max(seq) AS newest FROM changes')
      .get() as {
      oldest: number | null
      newest: number | null
    }
    if (newest === null || newest === seen) return
    const missed = oldest !== null && oldest > seen + 1
    const rows = reader.prepare('SELECT seq, slug FROM changes WHERE seq > ?').all(seen) as {
      seq: number
      slug: string
    }[]
    seen = newest
    const others = rows.filter((row) => !own.delete(row.seq)).map((row) => row.slug)
    await tell(missed ? undefined : [...new Set(others)], false)
  }

  const poll = setInterval(() => void catchUp().catch(() => tell(undefined, false)), pollMilliseconds)
  poll.unref()

  return {
    read: queriesOver(reading),

    async write(wanted, work) {
      const until = patience()
      const turn = last.then(() => transaction(wanted, work, until))
      last = turn.catch((error: unknown) => {
        if (isFailedFlush(error)) flushFailure = error
      })
      const [result, changed] = await turn.catch(explain)
      await tell(changed, true)
      return result
    },

    onChange: (forget) => void listeners.add(forget),

    catchUp,

    async check() {
      refuseAfterFailedFlush()
      try {
        reader.prepare('SELECT 1 FROM accounts LIMIT 1').get()
      } catch (error) {
        throw unavailable(error)
      }
    },

    async [Symbol.asyncDispose]() {
      clearInterval(poll)
      await last
      for (const db of [reader, writer]) if (db.isOpen) db.close()
    },
  }
}

/** Pages of 4 KiB that gather in the log before they are copied to the file: 16 MiB. */
const CHECKPOINT_PAGES = 4096

/** Two connections to tables that are up to date. */
async function open(file: string, until: number): Promise<{ writer: DatabaseSync; reader: DatabaseSync }> {
  try {
    mkdirSync(dirname(file), { recursive: true })
    const writer = await connect(file, until)
    await lock(writer, until)
    await migrate(kyselyOver(writer))
    return { writer, reader: await connect(file, until) }
  } catch (error) {
    if (error instanceof Failure) throw error
    throw new Failure('UNAVAILABLE', `The database ${file} cannot be opened: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

/** What is deleted is overwritten where it stood, for a secret that is over must not be left in the file. */
async function connect(file: string, until: number): Promise<DatabaseSync> {
  const db = new DatabaseSync(file, { timeout: 0 })
  await whenFree(until, () =>
    db.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -8192;
       PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}; PRAGMA secure_delete = FAST`,
    ),
  )
  return db
}

/** Begins a transaction with the write lock, so that it cannot fail for want of it later. */
function lock(writer: DatabaseSync, until: number): Promise<void> {
  return whenFree(until, () => writer.exec('begin immediate'))
}

/**
 * Does something as soon as no other process has what it needs. Meanwhile this one goes on with everything else:
 * visitors do not wait for writers.
 */
async function whenFree(until: number, work: () => void): Promise<void> {
  for (let milliseconds = 1; ; milliseconds = Math.min(2 * milliseconds, LONGEST_PAUSE)) {
    try {
      return work()
    } catch (error) {
      if (resultCode(error) !== SQLITE_BUSY || performance.now() >= until) throw error
    }
    await pause(milliseconds)
  }
}

/** Kysely's own dialect over `node:sqlite`; `call` surrounds every call of the latter. */
function kyselyOver(db: DatabaseSync, call = <T>(work: () => T): T => work()): Kysely<Schema> {
  const statements = new Map<string, StatementSync>()
  const prepare = (sql: string) => {
    const known = statements.get(sql)
    if (known) return known
    const made = call(() => db.prepare(sql))
    if (sql.length < 1000) {
      if (statements.size >= 500) statements.clear()
      statements.set(sql, made)
    }
    return made
  }
  return new Kysely<Schema>({
    dialect: new SqliteDialect({
      database: {
        close: () => undefined,
        prepare(sql) {
          if (sql === (db.isTransaction ? 'begin' : 'rollback')) return DONE_ALREADY
          const statement = prepare(sql)
          const values = (parameters: readonly unknown[]) => parameters as SQLInputValue[]
          return {
            reader: statement.columns().length > 0,
            all: (parameters) => call(() => statement.all(...values(parameters))),
            run: (parameters) => call(() => statement.run(...values(parameters))),
            iterate: (parameters) => statement.iterate(...values(parameters)) as IterableIterator<unknown>,
          }
        },
      },
    }),
  })
}

/** A transaction that was begun with its lock, or that SQLite itself took back after an error. */
const DONE_ALREADY: SqliteStatement = {
  reader: false,
  all: () => [],
  run: () => ({ changes: 0, lastInsertRowid: 0 }),
  iterate: () => [][Symbol.iterator](),
}

function dataVersionOf(db: DatabaseSync): number {
  return (db.prepare('PRAGMA data_version').get() as { data_version: number }).data_version
}

function newestChange(db: DatabaseSync): number {
  return (db.prepare('SELECT coalesce(max(seq), 0) AS seq FROM changes').get() as { seq: number }).seq
}

const SQLITE_BUSY = 5
const SQLITE_FULL = 13
/** Busy, locked, read-only, I/O error, corrupt (what could not be read may look so), cannot open, not a database. */
const AWAY = new Set([5, 6, 8, 10, 11, 14, 26])

function explained<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    explain(error)
  }
}

/** Throws SQLite's result codes in the words of the contract. */
function explain(error: unknown): never {
  const code = resultCode(error)
  if (code === SQLITE_FULL) throw diskFull(error)
  throw code !== undefined && AWAY.has(code) ? unavailable(error) : error
}

function unavailable(cause: unknown): Failure {
  return new Failure('UNAVAILABLE', 'The database of the service is not available; try again shortly', {
    cause,
    retryAfterSeconds: 5,
  })
}

/** SQLITE_IOERR_FSYNC and SQLITE_IOERR_DIR_FSYNC. */
function isFailedFlush(error: unknown): boolean {
  const { errcode } = (error ?? {}) as { errcode?: number }
  return errcode === 1034 || errcode === 1290
}

/** SQLite's primary result code behind an error, if it is one of SQLite's. */
function resultCode(error: unknown): number | undefined {
  const extended = (error as { errcode?: number } | undefined)?.errcode
  return extended === undefined ? undefined : extended & 0xff
}
