import { randomUUID } from 'node:crypto'
import { Component } from '../../lib/component.ts'
import { Metrics } from '../../lib/metrics.ts'
import { ChangeSet } from '../store.ts'
import type { Connection } from './client.ts'
import type { PrimaryPool } from './pool.ts'

interface ChangeFeedOptions {
  pool: PrimaryPool
  pollIntervalMs: number
  pollTimeoutMs: number
  /** Undefined when any name may have changed. */
  notify: (changed: ChangeSet | undefined) => Promise<void>
  metrics?: Metrics | undefined
}

/** Bounds of the random pause before a poll that follows failed ones; the upper bound doubles up to the maximum. */
const MIN_RETRY_MS = 100
const MAX_RETRY_MS = 1000

/** More changes in one poll count as a change of everything. */
const MAX_CHANGES_PER_POLL = 10_000

const CHANNEL = 'slipway_changes'
const NOTIFY_INTERVAL_MS = 10

/** Minimum interval between polls that hints cause: many nodes may send hints at the same time. */
const MIN_POLL_INTERVAL_MS = 10

const RETENTION = '1 hour'
/** By the clock of the database, between two polls. A transaction that inserted a change before this time has ended. */
const MAX_SILENCE_MS = 50 * 60_000
const TRIM_INTERVAL_MS = 10 * 60_000
const TRIM_TIMEOUT_MS = 10_000

interface PollRow {
  seen: string
  epoch: string | null
  now: number
  changes: [xid: string, name: string, effect: string][]
}

/**
 * Notices the changes of all nodes. A poll reads the rows that are visible now and were not visible in the snapshot of
 * the poll before: sequence numbers would miss a transaction that commits after a later one. NOTIFY only makes the next
 * poll earlier; behind a transaction pooler, which has no session that listens, nothing does.
 */
export class ChangeFeed extends Component<ChangeFeedOptions> implements AsyncDisposable {
  readonly #metrics = this.parts.metrics ?? new Metrics()
  /** Transactions of this process, whose listeners `write` notifies itself. */
  readonly #own = new Set<string>()
  readonly #timer = new PollTimer({
    intervalMs: this.parts.pollIntervalMs,
    poll: async () => {
      await this.poll()
      this.#trimmer.trim()
    },
  })
  readonly #trimmer = new ChangeTrimmer(this.parts)
  #connection: (Connection & Disposable) | undefined
  #snapshot: string | undefined
  #epoch: string | undefined
  #readAt = 0
  #polling: Promise<void> | undefined
  #polledAt = performance.now()
  #clockOffsetMs = 0

  constructor(options: ChangeFeedOptions) {
    super(options)
    this.#metrics.addRead('slipway_store_feed_lag_seconds', () => Math.round(this.silenceMs()) / 1000)
  }

  async open(): Promise<void> {
    await this.poll()
    this.#timer.start()
  }

  /** Milliseconds since 1970 by the clock of the database, also while that is unreachable. */
  now(): number {
    return Math.round(performance.now() + this.#clockOffsetMs)
  }

  /** Milliseconds since the beginning of the last poll that succeeded. */
  silenceMs(): number {
    return performance.now() - this.#polledAt
  }

  /** Before the commit: a poll may see the change before the response to the commit arrives. */
  addOwn(xid: string): void {
    this.#own.add(xid)
  }

  /** After a commit whose outcome is not known; false when a poll may have seen the change, and notified no listener. */
  removeOwn(xid: string): boolean {
    return this.#own.delete(xid)
  }

  /** Polls now; concurrent calls share one poll that began after the call. */
  async poll(): Promise<void> {
    await this.#polling?.catch(() => undefined)
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = undefined
    })
    return this.#polling
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer[Symbol.dispose]()
    // Ends a poll that waits for its answer.
    this.#connection?.[Symbol.dispose]()
    await this.#polling?.catch(() => undefined)
    this.#connection?.[Symbol.dispose]()
  }

  async #poll(): Promise<void> {
    const { pool, pollTimeoutMs } = this.parts
    try {
      const connection = await this.#connect()
      const startedAt = performance.now()
      const row = await readChanges(connection, this.#snapshot, pollTimeoutMs)
      this.#metrics.counter('slipway_store_feed_polls_total', { outcome: 'ok' }).add()
      await this.#accept(row)
      this.#polledAt = startedAt
    } catch (error) {
      this.#metrics.counter('slipway_store_feed_polls_total', { outcome: 'failed' }).add()
      this.#connection?.[Symbol.dispose]()
      this.#connection = undefined
      pool.closeIdle()
      throw error
    }
  }

  /** Keeps the snapshot only after listeners were notified: a poll that fails before is repeated. */
  async #accept(row: PollRow & { clockOffsetMs: number }): Promise<void> {
    this.#clockOffsetMs = row.clockOffsetMs
    const epoch = row.epoch ?? (await this.#beginEpoch())
    const isSame = row.epoch !== null && row.epoch === this.#epoch
    const mayHaveMissed = row.now - this.#readAt > MAX_SILENCE_MS
    const isComplete = isSame && !mayHaveMissed && row.changes.length <= MAX_CHANGES_PER_POLL
    // No poll returns those that this one did not read. A crash may have lost some, whose ids are assigned again.
    if (this.#snapshot !== undefined && !isComplete) this.#own.clear()
    const others = new ChangeSet()
    // A transaction that changed several names has a row for each.
    const own = new Set(row.changes.flatMap(([xid]) => (this.#own.delete(xid) ? xid : [])))
    for (const [xid, name, effect] of row.changes) if (!own.has(xid)) others.add(name, effect)
    if (this.#snapshot !== undefined) {
      if (!isComplete) this.#metrics.counter('slipway_store_feed_resets_total').add()
      if (!isComplete || others.size > 0) await this.parts.notify(isComplete ? others : undefined)
    }
    this.#snapshot = row.seen
    this.#epoch = epoch
    this.#readAt = row.now
  }

  async #connect(): Promise<Connection> {
    if (this.#connection) return this.#connection
    const connection = await this.parts.pool.connect()
    this.#connection = connection
    if (!connection.isSession) return connection
    connection.onNotification(() => this.#timer.hint())
    await connection.query({ text: `listen ${CHANNEL}` }, this.parts.pollTimeoutMs)
    return connection
  }

  /** Returns the epoch that this node began, or undefined when another node did so at the same time. */
  async #beginEpoch(): Promise<string | undefined> {
    const text = 'insert into feed_epoch (id) values ($1) on conflict do nothing returning id'
    const query = { text, values: [randomUUID()] }
    const { rows } = await this.#connection!.query<{ id: string }>(query, this.parts.pollTimeoutMs)
    return rows[0]?.id
  }
}

class PollTimer extends Component<{ intervalMs: number; poll(): Promise<void> }> implements Disposable {
  #timer: NodeJS.Timeout | undefined
  #startedAt = performance.now()
  #isPolling = false
  #isHinted = false
  #failures = 0
  #isClosed = false

  start(): void {
    this.#schedule(this.parts.intervalMs)
  }

  hint(): void {
    if (this.#isPolling) this.#isHinted = true
    else this.#schedule(Math.max(0, this.#startedAt + MIN_POLL_INTERVAL_MS - performance.now()))
  }

  [Symbol.dispose](): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #schedule(delayMs: number): void {
    if (this.#isClosed) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#run(), delayMs).unref()
  }

  async #run(): Promise<void> {
    this.#startedAt = performance.now()
    this.#isPolling = true
    this.#isHinted = false
    try {
      await this.parts.poll()
      this.#failures = 0
    } catch {
      this.#failures++
    }
    this.#isPolling = false
    if (this.#failures > 0) {
      const maxMs = Math.min(MAX_RETRY_MS, MIN_RETRY_MS * 2 ** this.#failures)
      this.#schedule(MIN_RETRY_MS + Math.random() * (maxMs - MIN_RETRY_MS))
    } else if (this.#isHinted) this.hint()
    else this.start()
  }
}

/** Deletes old changes. Any node may do so at any time. */
class ChangeTrimmer extends Component<Pick<ChangeFeedOptions, 'pool'>> {
  #trimmedAt = performance.now()

  trim(): void {
    if (performance.now() - this.#trimmedAt < TRIM_INTERVAL_MS) return
    this.#trimmedAt = performance.now()
    const text = `
      with gone as (delete from changes where at < clock_timestamp() - interval '${RETENTION}')
      select set_config('synchronous_commit', 'off', true)`
    const trimming = this.parts.pool.use(
      (connection) => connection.query({ text }, TRIM_TIMEOUT_MS),
      'transaction',
    )
    // The next attempt deletes what this one leaves.
    trimming.catch(() => undefined)
  }
}

/**
 * The changes since a snapshot, and the clock of the database as an offset from the monotonic clock. Changes that came
 * with a dump of another cluster may have ids that this one has not reached.
 */
async function readChanges(
  connection: Connection,
  snapshot: string | undefined,
  timeoutMs: number,
): Promise<PollRow & { clockOffsetMs: number }> {
  const text = `
    select pg_current_snapshot()::text as seen,
      (select id from feed_epoch) as epoch,
      extract(epoch from clock_timestamp())::float8 * 1000 as now,
      (select coalesce(json_agg(json_build_array(xid::text, name, effect)), '[]') from (
        select xid, name, effect from changes
        where xid = any(array(select pg_snapshot_xip($1::pg_snapshot)))
          or (xid >= pg_snapshot_xmax($1::pg_snapshot) and xid < pg_snapshot_xmax(pg_current_snapshot()))
        limit ${MAX_CHANGES_PER_POLL + 1}) as unseen) as changes`
  // Without a snapshot nothing has been cached yet, so that no earlier change matters.
  const values = [snapshot ?? (await currentSnapshot(connection, timeoutMs))]
  // Planning costs as much as the execution.
  const query = { text, values, ...(connection.isSession && { name: 'changes' }) }
  const sentAt = performance.now()
  const { rows } = await connection.query<PollRow>(query, timeoutMs)
  const [row] = rows
  // The database read its clock half a round trip ago, as far as can be known.
  return { ...row!, clockOffsetMs: row!.now - (sentAt + performance.now()) / 2 }
}

async function currentSnapshot(connection: Connection, timeoutMs: number): Promise<string> {
  const text = 'select pg_current_snapshot()::text as seen'
  const { rows } = await connection.query<{ seen: string }>({ text }, timeoutMs)
  return rows[0]!.seen
}

/** Makes the other nodes poll earlier. A lost hint costs them one poll interval. */
export class ChangeHints extends Component<{ pool: PrimaryPool; timeoutMs: number }> implements Disposable {
  #sentAt = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined

  /** In a transaction of its own: NOTIFY within a write would make all commits of the cluster wait for each other. */
  send(): void {
    if (this.#timer) return
    const delayMs = this.#sentAt + NOTIFY_INTERVAL_MS - performance.now()
    if (delayMs <= 0) this.#sendNow()
    else this.#timer = setTimeout(() => this.#sendNow(), delayMs).unref()
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
  }

  #sendNow(): void {
    this.#timer = undefined
    this.#sentAt = performance.now()
    const { pool, timeoutMs } = this.parts
    // The server sends it at the end of the commit, which need not wait for a disk and a standby.
    const text = `notify ${CHANNEL}; select set_config('synchronous_commit', 'off', true)`
    void pool.use((connection) => connection.query({ text }, timeoutMs)).catch(() => undefined)
  }
}
