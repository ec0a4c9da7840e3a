import { setTimeout as pause } from 'node:timers/promises'
import { type Kysely, sql } from '#kysely'
import type { Log } from '../../lib/log.ts'
import { DAY_MS } from '../../lib/time.ts'
import {
  applyAll,
  createIndex,
  createMigrationTables,
  findPending,
  migrations,
  recordApplied,
} from '../migrate.ts'
import type { LargeIndex, Migration } from '../migration.ts'
import type { Schema } from '../schema.ts'
import type { Connection } from './client.ts'
import { isLockTimeout } from './errors.ts'
import { createKysely } from './kysely.ts'
import type { PrimaryPool } from './pool.ts'

interface MigrateOptions {
  pool: PrimaryPool
  /** Key of the advisory lock that one node has while it migrates. */
  lock: bigint
  log?: Pick<Log, 'info' | 'warn'> | undefined
  steps?: readonly Migration[]
}

/** An index of a large table takes hours. */
const STATEMENT_TIMEOUT_MS = DAY_MS

/** ALTER TABLE waits for older transactions, a dump for example, and all later queries of the table wait for it. */
const LOCK_TIMEOUT_MS = 2000

/** A node that waits tries again after an interval that doubles from the first to the second value. */
const MIN_RETRY_MS = 50
const MAX_RETRY_MS = 1000
const LOG_INTERVAL_MS = 60_000

/** What happened to the next step; `applied` is its name, or undefined when nothing was left to do. */
type Outcome = 'busy' | 'locked' | { applied: string | undefined }

/** Nodes that start at the same time wait for the one that migrates; if that ends in the middle, another continues. */
export async function migratePostgres(options: MigrateOptions): Promise<void> {
  const { pool, log, steps = migrations } = options
  using connection = await pool.connect()
  const db = connectionQueries(connection)
  let retryMs = MIN_RETRY_MS
  let loggedAt = Number.NEGATIVE_INFINITY
  while (!(await hasMigrationTables(db)) || (await findPending(db, steps)).pending.length > 0) {
    const outcome = await applyNext({ ...options, connection, steps })
    if (typeof outcome === 'object') {
      if (outcome.applied) log?.info('migrated the database', { migration: outcome.applied })
      continue
    }
    if (performance.now() - loggedAt >= LOG_INTERVAL_MS) {
      loggedAt = performance.now()
      if (outcome === 'busy') log?.info('another node migrates the database: waiting for it')
      else log?.warn('a migration waits for a lock of another transaction')
    }
    await pause(retryMs * (0.5 + Math.random() / 2))
    retryMs = Math.min(2 * retryMs, MAX_RETRY_MS)
  }
}

interface ApplyOptions extends MigrateOptions {
  connection: Connection
  steps: readonly Migration[]
}

/** Applies one step, one batch of it, or all steps of an empty database, while this node has the lock. */
async function applyNext(options: ApplyOptions): Promise<Outcome> {
  const { connection, lock } = options
  await connection.query({ text: BEGIN }, STATEMENT_TIMEOUT_MS)
  try {
    const isLocked = await tryLock(connection, lock)
    const applied = isLocked ? await applyLocked(options) : undefined
    await connection.query({ text: 'commit' }, STATEMENT_TIMEOUT_MS)
    return isLocked ? { applied } : 'busy'
  } catch (error) {
    // A connection that cannot roll back was lost, and the server rolls back without it.
    await connection.query({ text: 'rollback' }, STATEMENT_TIMEOUT_MS).catch(() => undefined)
    if (isLockTimeout(error)) return 'locked'
    throw error
  }
}

/** Returns the name of what it applied. Another node may have applied all steps before this one had the lock. */
async function applyLocked({ pool, connection, steps }: ApplyOptions): Promise<string | undefined> {
  const tx = connectionQueries(connection)
  await createMigrationTables(tx)
  const { pending, isEmpty } = await findPending(tx, steps)
  const [next] = pending
  if (next === undefined) return undefined
  if (!isEmpty) return applyStep(tx, next, pool)
  await applyAll(tx, 'postgres', pending)
  await compareTextAsBytes(tx)
  return `all to ${pending.at(-1)?.name}`
}

async function applyStep(tx: Kysely<Schema>, step: Migration, pool: PrimaryPool): Promise<string> {
  const db = tx as unknown as Kysely<unknown>
  if ('fill' in step && !(await step.fill(db, 'postgres'))) return `a part of ${step.name}`
  if ('up' in step) {
    await step.up(db, 'postgres')
    await compareTextAsBytes(tx)
  }
  if ('indexes' in step) await buildIndexes(pool, step.indexes)
  await recordApplied(tx, step)
  return step.name
}

const BEGIN = `begin isolation level read committed; set local statement_timeout = 0;
  set local idle_in_transaction_session_timeout = 0; set local lock_timeout = ${LOCK_TIMEOUT_MS}`

/** A waiting lock would keep a snapshot, and the concurrent build of an index waits for all older snapshots. */
async function tryLock(connection: Connection, key: bigint): Promise<boolean> {
  const text = `select pg_try_advisory_xact_lock(${key}) as locked`
  const { rows } = await connection.query<{ locked: boolean }>({ text }, STATEMENT_TIMEOUT_MS)
  return rows[0]!.locked
}

/** While others write, outside of a transaction. Drops the invalid index that an interrupted build has left. */
async function buildIndexes(pool: PrimaryPool, indexes: readonly LargeIndex[]): Promise<void> {
  using connection = await pool.connect()
  for (const index of indexes) {
    const text = 'select indisvalid as valid from pg_index where indexrelid = to_regclass($1)'
    const { rows } = await connection.query<{ valid: boolean }>(
      { text, values: [index.name] },
      STATEMENT_TIMEOUT_MS,
    )
    const [built] = rows
    if (built?.valid) continue
    const drop = `drop index concurrently ${index.name}`
    if (built) await connection.query({ text: drop }, STATEMENT_TIMEOUT_MS)
    await connection.query({ text: createIndex(index, 'concurrently') }, STATEMENT_TIMEOUT_MS)
  }
}

async function hasMigrationTables(db: Kysely<Schema>): Promise<boolean> {
  const query = sql<{ found: boolean }>`select to_regclass('schema_compatibility') is not null as found`
  return (await query.execute(db)).rows[0]!.found
}

function connectionQueries(connection: Connection): Kysely<Schema> {
  return createKysely((query) => connection.query(query, STATEMENT_TIMEOUT_MS))
}

/** Gives every text column the order of its bytes, as in SQLite; an order of the locale changes with the C library. */
async function compareTextAsBytes(db: Kysely<Schema>): Promise<void> {
  await sql`
    do $$
    declare found record;
    begin
      for found in
        select attrelid::regclass as relation, attname as name
        from pg_attribute join pg_class on pg_class.oid = attrelid
        where relkind = 'r' and relnamespace = current_schema()::regnamespace
          and attnum > 0 and not attisdropped
          and atttypid = 'text'::regtype and attcollation <> 'pg_catalog."C"'::regcollation
      loop
        execute format('alter table %s alter column %I type text collate "C"', found.relation, found.name);
      end loop;
    end $$`.execute(db)
}
