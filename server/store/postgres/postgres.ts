import { DEADLINES, type Deadlines } from '../../lib/deadlines.ts'
import type { Incidents } from '../../lib/incidents.ts'
import type { Log } from '../../lib/log.ts'
import { Metrics } from '../../lib/metrics.ts'
import { CommitWatch } from '../commit-watch.ts'
import { createQueries } from '../queries.ts'
import { type ChangeListener, type ChangeSet, NO_EFFECTS, type Store } from '../store.ts'
import { AnswerWatch } from './answer-watch.ts'
import { ChangeFeed, ChangeHints } from './change-feed.ts'
import type { Connection, Query } from './client.ts'
import { parseConnectionUrl } from './connection-url.ts'
import { translateError } from './errors.ts'
import { createKysely } from './kysely.ts'
import { migratePostgres } from './migrate.ts'
import { PrimaryPool } from './pool.ts'
import { lockKey, Writer } from './writer.ts'

interface PostgresOptions {
  url: string
  /** Connections beside that of the change feed. */
  maxConnections?: number
  /** Interval of the polls for changes of other nodes; the contract allows a second. */
  pollIntervalMs?: number
  /** A later poll of the feed is aborted, which detects connections that are half open. */
  timeouts?: Deadlines['database']
  log?: Pick<Log, 'info' | 'warn'>
  minVersion?: number
  metrics?: Metrics
  incidents?: Incidents
}

const MAX_CONNECTIONS = 8
const POLL_INTERVAL_MS = 250

const MIGRATION_LOCK = lockKey('migrations', '')

/**
 * The store in PostgreSQL 13 or later, for any number of nodes. A write takes the locks of its scope in the message
 * that begins its transaction, so that writes with a common name follow one another; READ COMMITTED then lets each of
 * their statements see all that was committed before.
 */
export async function postgresStore(options: PostgresOptions): Promise<Store> {
  const { url, maxConnections = MAX_CONNECTIONS, pollIntervalMs = POLL_INTERVAL_MS } = options
  const { timeouts = DEADLINES.database, minVersion, metrics = new Metrics(), incidents } = options
  await using opened = new AsyncDisposableStack()
  const cluster = parseConnectionUrl(url)
  const answers = new AnswerWatch(timeouts)
  const pool = opened.use(
    new PrimaryPool({ cluster, maxConnections, minVersion, timeouts, answers, metrics, incidents }),
  )
  await migratePostgres({ pool, lock: MIGRATION_LOCK, log: options.log }).catch(translateError)

  const listeners = new Set<ChangeListener>()
  /** Without a set, anything may have changed. */
  const notify = async (changed: ChangeSet | undefined, own: boolean) => {
    const { names, effects = NO_EFFECTS } = changed ?? {}
    await Promise.all([...listeners].map((listener) => listener(names, own, effects)))
  }
  const feed = opened.use(
    new ChangeFeed({
      pool,
      pollIntervalMs,
      pollTimeoutMs: timeouts.poll,
      notify: (changed) => notify(changed, false),
      metrics,
    }),
  )
  const hints = opened.use(new ChangeHints({ pool, timeoutMs: timeouts.poll }))
  await feed.open().catch(translateError)
  const commits = new CommitWatch({ timeouts, metrics, incidents })
  const writer = new Writer({ pool, feed, hints, commits, timeouts, notify, metrics })
  const read = reader(pool, timeouts, timeouts.acquire)
  const owned = opened.move()
  const patient = createQueries(createKysely(reader(pool, timeouts, timeouts.queue)))
  return {
    read: createQueries(createKysely(read)),
    patient,
    newest: patient,
    clock: () => feed.now(),
    write: (durability, scope, work) => writer.write(durability, scope, work),
    execute: (...given) => writer.execute(...given),
    onChange: (forget) => void listeners.add(forget),
    pollChanges: () => feed.poll().catch(translateError),
    silenceMs: () => feed.silenceMs(),
    readWaitMs: () => pool.readWaitMs(),
    assertAnswering: () => answers.assertAnswering(),

    async check() {
      await read({ text: 'select from accounts limit 1' })
    },

    async [Symbol.asyncDispose]() {
      await writer.settled()
      await owned.disposeAsync()
    },
  }
}

/** Sends a read, which waits this long for a connection. */
function reader(pool: PrimaryPool, { acquire, read }: Deadlines['database'], timeoutMs: number) {
  return (query: Query) => {
    const deadline = performance.now() + read + timeoutMs - acquire
    const send = (connection: Connection) =>
      connection.query({ ...query, isCancelable: true }, Math.min(read, deadline - performance.now()))
    return pool.use(send, 'read', { timeoutMs }).catch(translateError)
  }
}
