import { createHash } from 'node:crypto'
import type pg from 'pg'
import type { Counters } from '../../lib/counters.ts'
import type { Log } from '../../lib/log.ts'
import { createQueries } from '../queries.ts'
import type { ChangeListener, Durability, Store, WriteScope, WriteTransaction } from '../store.ts'
import { ChangeFeed, ChangeHints } from './change-feed.ts'
import { parseConnectionUrl } from './connection-url.ts'
import { isRepeatable, translateError } from './errors.ts'
import { createKysely } from './kysely.ts'
import { migratePostgres } from './migrate.ts'
import { type Connection, PrimaryPool, type Query } from './pool.ts'

interface PostgresOptions {
  /** See `parseConnectionUrl`. */
  url: string
  /** Connections beside that of the change feed. */
  maxConnections?: number
  /** Interval of the polls for changes of other nodes; the contract allows a second. */
  pollIntervalMs?: number
  /** How long a caller waits for a connection, for a read, and the feed for a poll, in milliseconds. */
  timeouts?: Timeouts
  /** For progress of the start. */
  log?: Pick<Log, 'info' | 'warn'>
  counters?: Counters
}

interface Timeouts {
  acquire: number
  read: number
  poll: number
}

const MAX_CONNECTIONS = 8
const POLL_INTERVAL_MS = 250

/** A poll that takes longer is aborted: this detects connections that are half open. */
const TIMEOUTS_MS: Timeouts = { acquire: 800, read: 800, poll: 700 }

/** Bounds of one statement of a write: on the server, where it also frees the locks, and somewhat later here. */
const STATEMENT_TIMEOUT_MS = 5000
const WRITE_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 1000

const MAX_ATTEMPTS = 5

const MIGRATION_LOCK = lockKey('migrations', '')

/**
 * The store in PostgreSQL 13 or later, for any number of nodes. A write takes the locks of its scope in the message
 * that begins its transaction, so that writes with a common name follow one another; READ COMMITTED then lets each of
 * their statements see all that was committed before.
 */
export async function postgresStore(options: PostgresOptions): Promise<Store> {
  const { url, maxConnections = MAX_CONNECTIONS, pollIntervalMs = POLL_INTERVAL_MS } = options
  const { timeouts = TIMEOUTS_MS } = options
  await using opened = new AsyncDisposableStack()
  const cluster = parseConnectionUrl(url)
  const pool = opened.use(new PrimaryPool({ cluster, maxConnections, acquireTimeoutMs: timeouts.acquire }))
  await migratePostgres({ pool, lock: MIGRATION_LOCK, log: options.log }).catch(translateError)

  const listeners = new Set<ChangeListener>()
  const notifyListeners = async (names: readonly string[] | undefined, own: boolean) => {
    await Promise.all([...listeners].map((listener) => listener(names, own)))
  }
  const feed = opened.use(
    new ChangeFeed({
      pool,
      pollIntervalMs,
      pollTimeoutMs: timeouts.poll,
      notify: (names) => notifyListeners(names, false),
    }),
  )
  const hints = opened.use(new ChangeHints(pool, timeouts.poll))
  await feed.open().catch(translateError)
  const writes = new Set<Promise<unknown>>()
  const reading = createKysely((query) =>
    pool.use((connection) => connection.query(query, timeouts.read)).catch(translateError),
  )

  async function transaction<T>(
    connection: Connection,
    begin: string,
    work: (tx: WriteTransaction) => Promise<T>,
  ): Promise<[result: T, changed: readonly string[]]> {
    await connection.query({ text: begin }, WRITE_TIMEOUT_MS)
    let xid: string | undefined
    try {
      const changed = new Set<string>()
      const db = createKysely((query) => connection.query(query, WRITE_TIMEOUT_MS))
      const result = await work({
        ...createQueries(db),
        notifyChanged: async (name) => {
          changed.add(name)
        },
      })
      if (changed.size > 0) xid = await recordChanges(connection, [...changed])
      if (xid !== undefined) feed.addOwn(xid)
      await commit(connection)
      return [result, [...changed]]
    } catch (error) {
      if (xid !== undefined) feed.removeOwn(xid)
      // A connection that cannot roll back was lost, and the server rolls back without it.
      await connection.query({ text: 'rollback' }, WRITE_TIMEOUT_MS).catch(() => undefined)
      throw error
    }
  }

  async function write<T>(begin: string, work: (tx: WriteTransaction) => Promise<T>): Promise<T> {
    const [result, changed] = await repeatIfRolledBack(() =>
      pool.use((connection) => transaction(connection, begin, work)),
    )
    if (changed.length > 0) {
      hints.send()
      await notifyListeners(changed, true)
    }
    return result
  }

  async function untilSettled<T>(writing: Promise<T>): Promise<T> {
    writes.add(writing)
    try {
      return await writing.catch(translateError)
    } finally {
      writes.delete(writing)
    }
  }

  const createStatements = (durability: Durability) =>
    createQueries(
      createKysely((query) => pool.use((connection) => executeAlone(connection, query, durability))),
    )
  const statements = { durable: createStatements('durable'), relaxed: createStatements('relaxed') }
  const owned = opened.move()
  return {
    read: createQueries(reading),
    clock: () => feed.now(),

    write: (durability, scope, work) => untilSettled(write(beginMessage(durability, scope), work)),

    execute: (durability, statement) =>
      untilSettled(repeatIfRolledBack(() => statement(statements[durability]))),

    onChange: (forget) => void listeners.add(forget),

    pollChanges: () => feed.poll().catch(translateError),

    async check() {
      await pool
        .use((connection) => connection.query({ text: 'select from accounts limit 1' }, timeouts.read))
        .catch(translateError)
    },

    async [Symbol.asyncDispose]() {
      await Promise.allSettled(writes)
      await owned.disposeAsync()
    },
  }
}

/**
 * Begins a transaction with the locks of its scope, in one message. Sorted, so that two writes cannot wait for each
 * other. Settings are local to the transaction: a transaction pooler gives the next one another connection.
 */
function beginMessage(durability: Durability, scope: WriteScope): string {
  const keys = Object.entries(scope).flatMap(([kind, names]) =>
    [names ?? []].flat().map((name) => lockKey(kind, name)),
  )
  const locks = [...new Set(keys)].sort((one, other) => (one < other ? -1 : 1))
  return [
    'begin',
    `set local synchronous_commit = ${synchronousCommit(durability)}`,
    `set local statement_timeout = ${STATEMENT_TIMEOUT_MS}`,
    `set local idle_in_transaction_session_timeout = ${WRITE_TIMEOUT_MS}`,
    ...locks.map((key) => `select pg_advisory_xact_lock(${key})`),
  ].join(';')
}

/** Executes a statement that sets the durability of its own commit, unless it changes no row. */
async function executeAlone(
  connection: Connection,
  query: Query,
  durability: Durability,
): Promise<pg.QueryResult> {
  const setting = `set_config('synchronous_commit', '${synchronousCommit(durability)}', true) as set_durability`
  const text = `${query.text}${/ returning /i.test(query.text) ? ',' : ' returning'} ${setting}`
  const result = await connection.query<{ set_durability?: string }>({ ...query, text }, WRITE_TIMEOUT_MS)
  for (const row of result.rows) delete row.set_durability
  return result
}

function synchronousCommit(durability: Durability): 'on' | 'off' {
  return durability === 'durable' ? 'on' : 'off'
}

/** Repeats what the server rolled back after a deadlock or a serialization failure. */
async function repeatIfRolledBack<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!isRepeatable(error) || attempt === MAX_ATTEMPTS) throw error
    }
  }
}

/** 64 bits of a hash: two names with the same key only wait for each other. */
function lockKey(kind: string, name: string): bigint {
  return createHash('sha256')
    .update(JSON.stringify([kind, name]))
    .digest()
    .readBigInt64BE()
}

async function recordChanges(connection: Connection, names: readonly string[]): Promise<string> {
  const text = 'insert into changes (name) select unnest($1::text[]) returning xid::text'
  const { rows } = await connection.query<{ xid: string }>({ text, values: [names] }, WRITE_TIMEOUT_MS)
  return rows[0]!.xid
}

/** The server answers the commit of a transaction in which a statement failed with ROLLBACK. */
async function commit(connection: Connection): Promise<void> {
  const { command } = await connection.query({ text: 'commit' }, WRITE_TIMEOUT_MS)
  if (command !== 'COMMIT') throw new Error(`a failed statement was ignored: the server answered ${command}`)
}
