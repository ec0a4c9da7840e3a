import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { Component } from '../../lib/component.ts'
import type { Deadlines } from '../../lib/deadlines.ts'
import type { Metrics } from '../../lib/metrics.ts'
import { Turns } from '../../lib/turns.ts'
import type { CommitWatch } from '../commit-watch.ts'
import type { Queries } from '../queries.ts'
import { createQueries } from '../queries.ts'
import { ChangeSet, type Durability, isDurable, type WriteScope, type WriteTransaction } from '../store.ts'
import type { ChangeFeed, ChangeHints } from './change-feed.ts'
import type { Connection, Query } from './client.ts'
import type { Use } from './connection-uses.ts'
import { isLockTimeout, isRepeatable, translateError } from './errors.ts'
import { createKysely } from './kysely.ts'
import type { PrimaryPool } from './pool.ts'

interface WriterOptions {
  pool: PrimaryPool
  feed: ChangeFeed
  hints: ChangeHints
  commits: CommitWatch
  timeouts: Deadlines['database']
  notify: (changed: ChangeSet, own: boolean) => Promise<void>
  metrics: Metrics
}

/** A statement ends on the server, which also frees its locks, and here somewhat later. */
const STATEMENT_MARGIN_MS = 1000

/** For locks that other processes hold, with a connection that others do not wait for. */
const SHORT_LOCK_MS = 20

/** Connections of a process on which writes wait longer for locks: others stay for writes that need not. */
const MAX_LOCK_WAITS = 2

const MAX_ATTEMPTS = 5

/** Maximum random pause before the second attempt; it grows by this for each further one. */
const MAX_RETRY_PAUSE_MS = 20

/**
 * Writes to the primary. A transaction takes the locks of its scope in the message that begins it, after those of this
 * process with a common name, so that only one of these holds a connection; while other processes hold the locks, at most
 * two of this one do. What the server rolled back after a deadlock or a serialization failure is repeated; a commit whose
 * answer is lost never is. While the server does not confirm commits, durable writes are rejected before they begin.
 */
export class Writer extends Component<WriterOptions> {
  readonly #writing = new Set<Promise<unknown>>()
  readonly #statements = this.#createStatements('acquire')
  readonly #patientStatements = this.#createStatements('queue')
  readonly #turns = new Turns()
  #lockWaits = 0

  write<T>(
    durability: Durability,
    scope: WriteScope,
    work: (tx: WriteTransaction) => Promise<T>,
  ): Promise<T> {
    const { pool, hints, notify, timeouts } = this.parts
    const locks = lockKeys(scope)
    return this.#track(async () => {
      const { signal } = this.parts.commits
      const wait = { timeoutMs: timeouts.queue, signal: durability === 'durable' ? signal : undefined }
      const { result, changed } = await this.#turns.run(locks, wait, (extend) => {
        const attempt = async (isShort: boolean) => {
          const commit = this.#commitFor(durability)
          const begin = beginMessage(commit, locks, timeouts, isShort)
          return pool.use(
            async (connection) => {
              try {
                return await this.#transaction(connection, begin, work)
              } finally {
                // The server still has the locks.
                if (connection.unanswered) extend(connection.unanswered)
              }
            },
            USES[commit],
            { signal: wait.signal },
          )
        }
        return this.#repeat(() =>
          attempt(true).catch((error: unknown) => {
            if (!(error instanceof LockedError)) throw error
            const place = `lock wait ${this.#lockWaits++ % MAX_LOCK_WAITS}`
            return this.#turns.run([place], wait, () => attempt(false))
          }),
        )
      })
      if (changed.size > 0) {
        hints.send()
        await notify(changed, true)
      }
      if (durability === 'available') await this.#replicate()
      return result
    })
  }

  /** Only with a message of its own, a commit that waits for the standby differs from a lock. */
  execute<T>(
    durability: Durability,
    statement: (queries: Queries) => Promise<T>,
    isPatient = false,
  ): Promise<T> {
    if (isDurable(durability)) return this.write(durability, {}, statement)
    const statements = isPatient ? this.#patientStatements : this.#statements
    return this.#track(() => this.#repeat(() => statement(statements)))
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#writing)
  }

  /** Each commits without waiting for the disk. */
  #createStatements(wait: 'acquire' | 'queue'): Queries {
    const limits = { timeoutMs: this.parts.timeouts[wait] }
    return createQueries(
      createKysely((query) =>
        this.parts.pool.use((connection) => this.#executeRelaxed(connection, query), 'statement', limits),
      ),
    )
  }

  /** UNAVAILABLE for a durable write while the server does not confirm commits. */
  #commitFor(durability: Durability): Commit {
    if (!isDurable(durability)) return 'off'
    if (durability === 'available') return 'local'
    this.parts.commits.signal.throwIfAborted()
    return 'on'
  }

  /** Waits, without its locks, until the standby has what was committed, at most until commits are not confirmed. */
  async #replicate(): Promise<void> {
    const { pool, commits, timeouts } = this.parts
    const { signal } = commits
    if (signal.aborted) return
    const query = { text: REPLICATED, isCommit: true }
    const confirmed = pool.use(
      (connection) => commits.run(connection, () => connection.query(query, timeouts.commit)),
      'durable',
      { signal },
    )
    const { promise: hangs, resolve: onAbort } = Promise.withResolvers<unknown>()
    signal.addEventListener('abort', onAbort)
    const unlessHanging = confirmed.catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
    await Promise.race([unlessHanging, hangs]).finally(() => signal.removeEventListener('abort', onAbort))
  }

  async #track<T>(work: () => Promise<T>): Promise<T> {
    const writing = work()
    this.#writing.add(writing)
    try {
      return await writing.catch(translateError)
    } finally {
      this.#writing.delete(writing)
    }
  }

  async #repeat<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        if (!isRepeatable(error) || attempt === MAX_ATTEMPTS) throw error
        this.parts.metrics.counter('slipway_store_repeated_writes_total').add()
        await pause(Math.random() * MAX_RETRY_PAUSE_MS * attempt)
      }
    }
  }

  async #transaction<T>(
    connection: Connection,
    begin: Begin,
    work: (tx: WriteTransaction) => Promise<T>,
  ): Promise<{ result: T; changed: ChangeSet }> {
    const { feed, notify, timeouts, commits } = this.parts
    const deadline = performance.now() + timeouts.transaction
    const statementMs = timeouts.statement + STATEMENT_MARGIN_MS
    const query: typeof connection.query = (query, timeoutMs) =>
      connection.query({ ...query, isCancelable: true }, Math.min(timeoutMs, deadline - performance.now()))
    const changed = new ChangeSet()
    let xid: string | undefined
    try {
      // A message that fails at a lock leaves a transaction, too.
      const begun = await query({ text: begin.text }, begin.mayWait ? statementMs : timeouts.read).catch(
        (error: unknown) => {
          throw begin.isShort && isLockTimeout(error) ? new LockedError() : error
        },
      )
      const queries = createQueries(createKysely((statement) => query(statement, statementMs)))
      const notifyChanged: WriteTransaction['notifyChanged'] = async (name, effect) =>
        changed.add(name, effect)
      const result = await work(Object.assign(queries, { notifyChanged }))
      // The commit would wait for the standby, with the locks of the transaction.
      if (begin.commit === 'on') commits.signal.throwIfAborted()
      if (changed.size > 0) xid = lastResult<{ xid: string }>(begun).rows[0]!.xid
      if (xid !== undefined) feed.addOwn(xid)
      const end = () => commit(connection, changed, { timeouts, ...begin })
      await (begin.commit === 'off' ? end() : commits.run(connection, end))
      return { result, changed }
    } catch (error) {
      // A connection that cannot roll back was lost, and the server rolls back without it.
      await connection.query({ text: 'rollback' }, timeouts.read).catch(() => undefined)
      if (xid !== undefined && !feed.removeOwn(xid)) await notify(changed, false).catch(() => undefined)
      throw error
    }
  }

  /** Executes a statement that sets the durability of its own commit, unless it changes no row. */
  async #executeRelaxed(connection: Connection, query: Query): Promise<pg.QueryResult> {
    const setting = "set_config('synchronous_commit', 'off', true) as set_durability"
    const text = `${query.text}${/ returning /i.test(query.text) ? ',' : ' returning'} ${setting}`
    const sent = { ...query, text, isCancelable: true }
    const result = await connection.query<{ set_durability?: string }>(sent, this.parts.timeouts.read)
    for (const row of result.rows) delete row.set_durability
    return result
  }
}

/** Another process holds a lock of the scope for longer than `SHORT_LOCK_MS`. */
class LockedError extends Error {}

/** A commit without a record in the log of the server does not wait for the standby. */
const REPLICATED =
  "begin;set local synchronous_commit = on;select pg_logical_emit_message(true, 'slipway', '');commit"

/** `synchronous_commit`: waits for the standby, for the disk of the primary, or for nothing. */
type Commit = 'on' | 'local' | 'off'

const USES: Readonly<Record<Commit, Use>> = { on: 'durable', local: 'transaction', off: 'transaction' }

interface Begin {
  text: string
  commit: Commit
  mayWait: boolean
  isShort: boolean
}

/**
 * Begins a transaction with the locks of its scope, in one message, which returns the id of the transaction. Sorted, so
 * that two writes cannot wait for each other. Settings are local to the transaction: a transaction pooler gives the next
 * one another connection.
 */
function beginMessage(
  commit: Commit,
  locks: readonly string[],
  { statement, lock }: Deadlines['database'],
  isShort: boolean,
): Begin {
  const text = [
    'begin isolation level read committed',
    `set local synchronous_commit = ${commit}`,
    `set local statement_timeout = ${statement}`,
    `set local lock_timeout = ${isShort ? Math.min(SHORT_LOCK_MS, lock) : lock}`,
    `set local idle_in_transaction_session_timeout = ${statement + STATEMENT_MARGIN_MS}`,
    ...locks.map((key) => `select pg_advisory_xact_lock(${key})`),
    `set local lock_timeout = ${lock}`,
    'select pg_current_xact_id()::text as xid',
  ].join(';')
  return { text, commit, mayWait: locks.length > 0, isShort }
}

/** The keys of the locks of a scope, each once and in one order. */
function lockKeys(scope: WriteScope): string[] {
  const keys = Object.entries(scope).flatMap(([kind, names]) =>
    [names ?? []].flat().map((name) => `${lockKey(kind, name)}`),
  )
  return [...new Set(keys)].sort()
}

/** 64 bits of a hash: two names with the same key only wait for each other. */
export function lockKey(kind: string, name: string): bigint {
  return createHash('sha256')
    .update(JSON.stringify([kind, name]))
    .digest()
    .readBigInt64BE()
}

/** Records the changed names in the same message. After a failed statement the server answers COMMIT with ROLLBACK. */
async function commit(
  connection: Connection,
  { effects }: ChangeSet,
  { timeouts, commit: mode }: Begin & { timeouts: Deadlines['database'] },
): Promise<void> {
  const rows = [...effects].map((change) => `(${change.map(pg.escapeLiteral).join()})`)
  const record = rows.length === 0 ? '' : `insert into changes (name, effect) values ${rows};`
  const { command } = lastResult(
    await connection.query({ text: `${record}commit`, isCommit: mode !== 'off' }, timeouts.commit),
  )
  if (command !== 'COMMIT') throw new Error(`a failed statement was ignored: the server answered ${command}`)
}

function lastResult<Row extends object>(
  results: pg.QueryResult<object> | pg.QueryResult<object>[],
): pg.QueryResult<Row> {
  return [results].flat().at(-1) as pg.QueryResult<Row>
}
