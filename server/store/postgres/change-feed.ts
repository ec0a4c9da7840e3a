import { randomUUID } from 'node:crypto'
import type { Connection, PrimaryPool } from './pool.ts'

interface ChangeFeedOptions {
  pool: PrimaryPool
  pollIntervalMs: number
  pollTimeoutMs: number
  /** Changed names, or undefined when any name may have changed. */
  notify: (names: readonly string[] | undefined) => Promise<void>
}

const RECONNECT_MIN_MS = 100
const RECONNECT_MAX_MS = 1000

/** More changes in one poll count as a change of everything. */
const MAX_CHANGES_PER_POLL = 10_000

const CHANNEL = 'slipway_changes'
const NOTIFY_INTERVAL_MS = 10

const RETENTION = '1 hour'
const TRIM_INTERVAL_MS = 10 * 60_000

interface PollRow {
  seen: string
  epoch: string | null
  missed: boolean
  changes: [xid: string, name: string][]
}

/**
 * Notices the changes of all nodes. A poll reads the rows that are visible now and were not visible in the snapshot of
 * the poll before: sequence numbers would miss a transaction that commits after a later one. NOTIFY only makes the next
 * poll earlier.
 */
export class ChangeFeed implements AsyncDisposable {
  readonly #options: ChangeFeedOptions
  /** Transactions of this process, whose listeners `write` notifies itself. */
  readonly #own = new Set<string>()
  #connection: (Connection & Disposable) | undefined
  #snapshot: string | undefined
  #epoch: string | undefined
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> | undefined
  #trimmedAt = performance.now()
  #failures = 0
  /** The clock of the database, and when the last poll that succeeded began on the monotonic clock. */
  #lastPoll = { clockOffsetMs: 0, sentAt: Number.NEGATIVE_INFINITY }
  #isClosed = false

  constructor(options: ChangeFeedOptions) {
    this.#options = options
  }

  /** Resolves once the first poll has succeeded. */
  async open(): Promise<void> {
    await this.poll()
    this.#schedule()
  }

  /** Milliseconds since 1970 by the clock of the database, also while that is unreachable. */
  now(): number {
    return Math.round(performance.now() + this.#lastPoll.clockOffsetMs)
  }

  /** Milliseconds since the beginning of the last poll that succeeded. */
  silenceMs(): number {
    return performance.now() - this.#lastPoll.sentAt
  }

  /** Before the commit: a poll may see the change before the response to the commit arrives. */
  addOwn(xid: string): void {
    this.#own.add(xid)
  }

  removeOwn(xid: string): void {
    this.#own.delete(xid)
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
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#polling?.catch(() => undefined)
    this.#connection?.[Symbol.dispose]()
  }

  #schedule(): void {
    if (this.#isClosed) return
    clearTimeout(this.#timer)
    const { pollIntervalMs } = this.#options
    const delayMs =
      this.#failures === 0
        ? pollIntervalMs
        : Math.min(RECONNECT_MAX_MS, RECONNECT_MIN_MS * 2 ** this.#failures) * (0.5 + Math.random() / 2)
    this.#timer = setTimeout(() => void this.#pollAndSchedule(), delayMs)
    this.#timer.unref()
  }

  async #pollAndSchedule(): Promise<void> {
    try {
      await this.poll()
      await this.#trim()
      this.#failures = 0
    } catch {
      if (this.#isClosed) return
      this.#failures++
    }
    this.#schedule()
  }

  async #poll(): Promise<void> {
    try {
      const row = await readChanges(await this.#connect(), this.#snapshot, this.#options.pollTimeoutMs)
      this.#lastPoll.clockOffsetMs = row.clockOffsetMs
      const isFirst = this.#snapshot === undefined
      const isSame = row.epoch !== null && row.epoch === this.#epoch
      this.#snapshot = row.seen
      this.#epoch = row.epoch ?? undefined
      if (row.epoch === null) await this.#beginEpoch()
      const others = row.changes.filter(([xid]) => !this.#own.delete(xid)).map(([, name]) => name)
      const isComplete = isFirst || (isSame && !row.missed && row.changes.length <= MAX_CHANGES_PER_POLL)
      const changed = isComplete ? [...new Set(others)] : undefined
      const notified = changed?.length === 0 ? undefined : this.#options.notify(changed)
      // Listeners have invalidated their caches; what they reload is not waited for.
      this.#lastPoll.sentAt = row.sentAt
      await notified
    } catch (error) {
      this.#connection?.[Symbol.dispose]()
      this.#connection = undefined
      throw error
    }
  }

  async #connect(): Promise<Connection> {
    if (this.#connection) return this.#connection
    const connection = await this.#options.pool.connect()
    this.#connection = connection
    connection.onNotification(() => void this.#pollAndSchedule())
    await connection.query({ text: `listen ${CHANNEL}` }, this.#options.pollTimeoutMs)
    return connection
  }

  async #beginEpoch(): Promise<void> {
    const text = 'insert into feed_epoch (id) values ($1) on conflict do nothing'
    await this.#connection!.query({ text, values: [randomUUID()] }, this.#options.pollTimeoutMs)
  }

  /** Deletes old changes. Any node may do so at any time. */
  async #trim(): Promise<void> {
    if (performance.now() - this.#trimmedAt < TRIM_INTERVAL_MS) return
    this.#trimmedAt = performance.now()
    const text = `
      with gone as (delete from changes where at < clock_timestamp() - interval '${RETENTION}' returning xid)
      update changes_trimmed
      set xid = greatest(changes_trimmed.xid, (select xid from gone order by xid desc limit 1))`
    await this.#connection!.query({ text }, this.#options.pollTimeoutMs)
  }
}

/** The changes since a snapshot, and the clock of the database as an offset from the monotonic clock. */
async function readChanges(
  connection: Connection,
  snapshot: string | undefined,
  timeoutMs: number,
): Promise<PollRow & { clockOffsetMs: number; sentAt: number }> {
  const text = `
    select pg_current_snapshot()::text as seen,
      (select id from feed_epoch) as epoch,
      extract(epoch from clock_timestamp())::float8 * 1000 as now,
      (select xid >= pg_snapshot_xmin($1::pg_snapshot) from changes_trimmed) as missed,
      (select coalesce(json_agg(json_build_array(xid::text, name)), '[]') from (
        select xid, name from changes
        where xid >= pg_snapshot_xmin($1::pg_snapshot) and not pg_visible_in_snapshot(xid, $1::pg_snapshot)
        limit ${MAX_CHANGES_PER_POLL + 1}) as unseen) as changes`
  // Without a snapshot nothing has been cached yet, so that no earlier change matters.
  const values = [snapshot ?? (await currentSnapshot(connection, timeoutMs))]
  const sentAt = performance.now()
  const { rows } = await connection.query<PollRow & { now: number }>({ text, values }, timeoutMs)
  const [row] = rows
  // The database read its clock half a round trip ago, as far as can be known.
  return { ...row!, sentAt, clockOffsetMs: row!.now - (sentAt + performance.now()) / 2 }
}

async function currentSnapshot(connection: Connection, timeoutMs: number): Promise<string> {
  const text = 'select pg_current_snapshot()::text as seen'
  const { rows } = await connection.query<{ seen: string }>({ text }, timeoutMs)
  return rows[0]!.seen
}

/** Makes the other nodes poll earlier. A lost hint costs them one poll interval. */
export class ChangeHints implements Disposable {
  readonly #send: () => Promise<unknown>
  #timer: NodeJS.Timeout | undefined

  constructor(pool: PrimaryPool, timeoutMs: number) {
    this.#send = () => pool.use((connection) => connection.query({ text: `notify ${CHANNEL}` }, timeoutMs))
  }

  /**
   * Sends a hint at most once in `NOTIFY_INTERVAL_MS`, without waiting for it. In a transaction of its own: NOTIFY
   * within a write would make all commits of the cluster wait for each other.
   */
  send(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      void this.#send().catch(() => undefined)
    }, NOTIFY_INTERVAL_MS)
    this.#timer.unref()
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
  }
}
