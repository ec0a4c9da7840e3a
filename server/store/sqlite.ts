import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { Kysely, SqliteDialect } from 'kysely'
import { Failure } from '../failure.ts'
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
}

/** How long a statement waits for another process's write before the store counts as too busy. */
const BUSY_MILLISECONDS = 5000

const CHANGES_KEPT_MILLISECONDS = 10 * 60_000

/**
 * The store in one SQLite file. One connection writes, one transaction after another; a second one reads, so
 * that a read never sees a write half done and never waits for it. Processes on the same file hear of each
 * other's changes through `PRAGMA data_version` and the table `changes`.
 */
export async function sqliteStore({ file, clock, pollMilliseconds = 200 }: SqliteOptions): Promise<Store> {
  mkdirSync(dirname(file), { recursive: true })
  const writer = connect(file)
  const reader = connect(file)
  const writing = kyselyOver(writer)
  const reading = kyselyOver(reader)
  await migrate(writing)

  const listeners = new Set<Forget>()
  const tell = async (slugs: readonly string[] | undefined, own: boolean) => {
    if (slugs?.length === 0) return
    await Promise.all([...listeners].map((listener) => listener(slugs, own)))
  }
  let seen = newestChange(reader)
  let dataVersion = dataVersionOf(reader)
  let last: Promise<unknown> = Promise.resolve()
  let durability: Durability = 'durable'

  async function transaction<T>(
    wanted: Durability,
    work: (tx: Writing) => Promise<T>,
  ): Promise<[T, string[]]> {
    if (wanted !== durability) {
      writer.exec(`PRAGMA synchronous = ${wanted === 'durable' ? 'FULL' : 'NORMAL'}`)
      durability = wanted
    }
    const changed = new Set<string>()
    const result = await writing.transaction().execute(async (trx) => {
      const result = await work({
        ...queriesOver(trx),
        changed: async (slug) => {
          changed.add(slug)
        },
      })
      const at = clock()
      for (const slug of changed) await trx.insertInto('changes').values({ slug, at }).execute()
      if (changed.size > 0) {
        await trx
          .deleteFrom('changes')
          .where('at', '<', at - CHANGES_KEPT_MILLISECONDS)
          .execute()
      }
      return result
    })
    return [result, [...changed]]
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
    const rows = reader.prepare('SELECT DISTINCT slug FROM changes WHERE seq > ?').all(seen) as {
      slug: string
    }[]
    seen = newest
    await tell(missed ? undefined : rows.map((row) => row.slug), false)
  }

  const poll = setInterval(() => void catchUp().catch(() => tell(undefined, false)), pollMilliseconds)
  poll.unref()

  return {
    read: queriesOver(reading),

    async write(wanted, work) {
      const turn = last.then(() => explained(() => transaction(wanted, work)))
      last = turn.catch(() => undefined)
      const [result, changed] = await turn
      await tell(changed, true)
      return result
    },

    onChange: (forget) => void listeners.add(forget),

    catchUp,

    check: () =>
      explained(async () => {
        reader.prepare('SELECT 1 FROM accounts LIMIT 1').get()
      }),

    async [Symbol.asyncDispose]() {
      clearInterval(poll)
      await last
      await reading.destroy()
      await writing.destroy()
    },
  }
}

/** Pages of 4 KiB that gather in the log before they are copied to the file: 16 MiB. */
const CHECKPOINT_PAGES = 4096

function connect(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: BUSY_MILLISECONDS })
  db.exec(
    `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -8192;
     PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`,
  )
  return db
}

/** Kysely's own dialect over `node:sqlite`; a transaction takes the write lock at once, so that it cannot fail later. */
function kyselyOver(db: DatabaseSync): Kysely<Schema> {
  const statements = new Map<string, StatementSync>()
  const prepare = (sql: string) => {
    const known = statements.get(sql)
    if (known) return known
    const made = db.prepare(sql === 'begin' ? 'begin immediate' : sql)
    if (sql.length < 1000) {
      if (statements.size >= 500) statements.clear()
      statements.set(sql, made)
    }
    return made
  }
  return new Kysely<Schema>({
    dialect: new SqliteDialect({
      database: {
        close: () => {
          statements.clear()
          db.close()
        },
        prepare(sql) {
          const statement = prepare(sql)
          const values = (parameters: readonly unknown[]) => parameters as SQLInputValue[]
          return {
            reader: statement.columns().length > 0,
            all: (parameters) => statement.all(...values(parameters)),
            run: (parameters) => statement.run(...values(parameters)),
            iterate: (parameters) => statement.iterate(...values(parameters)) as IterableIterator<unknown>,
          }
        },
      },
    }),
  })
}

function dataVersionOf(db: DatabaseSync): number {
  return (db.prepare('PRAGMA data_version').get() as { data_version: number }).data_version
}

function newestChange(db: DatabaseSync): number {
  return (db.prepare('SELECT coalesce(max(seq), 0) AS seq FROM changes').get() as { seq: number }).seq
}

const SQLITE_FULL = 13
const AWAY = new Set([5, 6, 8, 10, 14])

/** SQLite's result codes in the words of the contract: busy, locked, read-only, I/O and cannot-open are UNAVAILABLE. */
async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const code = (error as { errcode?: number }).errcode
    if (code === undefined) throw error
    if ((code & 0xff) === SQLITE_FULL) {
      throw new Failure('INSUFFICIENT_STORAGE', 'The disk of the service is full; sites are still served', {
        cause: error,
      })
    }
    if (AWAY.has(code & 0xff)) {
      throw new Failure('UNAVAILABLE', 'The database of the service is not available; try again shortly', {
        cause: error,
        retryAfterSeconds: 5,
      })
    }
    throw error
  }
}
