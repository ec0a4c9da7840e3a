import type { Deadlines } from '../../lib/deadlines.ts'
import type { ApiError } from '../../lib/errors.ts'
import { type Incidents, watchGrowth } from '../../lib/incidents.ts'
import { Metrics } from '../../lib/metrics.ts'
import { SECOND_MS } from '../../lib/time.ts'
import { AnswerWatch } from './answer-watch.ts'
import type { Connection, PostgresClient } from './client.ts'
import type { Cluster } from './connection-url.ts'
import { ConnectionUses, type Use } from './connection-uses.ts'
import { isConnectionLost, isDiskFull, isReadOnly, unavailable } from './errors.ts'
import { PrimarySearch } from './primary-search.ts'

interface PoolOptions {
  cluster: Cluster
  maxConnections: number
  minVersion?: number | undefined
  timeouts: Pick<Deadlines['database'], 'connect' | 'acquire' | 'queue' | 'read' | 'silence'>
  /** By default one of its own. The pool disposes of it. */
  answers?: AnswerWatch
  metrics?: Metrics | undefined
  incidents?: Incidents | undefined
  /** A clock in milliseconds that is never set. */
  clock?: () => number
}

interface WaitLimits {
  /** By default that of the use. */
  timeoutMs?: number
  signal?: AbortSignal | undefined
}

interface Acquired {
  client: PostgresClient
  end: ReturnType<ConnectionUses['begin']>
}

interface Waiting {
  use: Use
  since: number
  resolve(acquired: Acquired): void
  reject(error: unknown): void
}

const DEADLINES = { read: 'acquire', statement: 'acquire', transaction: 'queue', durable: 'queue' } as const

const MAX_WAITING = 1000

/** Readings without a refused change after which the disk of the primary has space again: small changes may need none. */
const FULL_READINGS = 60

/** Time, in part random, without another attempt after a failed one; callers fail immediately when no connection is open. */
const MIN_BACKOFF_MS = 50
const MAX_BACKOFF_MS = 200

/** Connections to the primary of a cluster, which it searches again after a connection was lost. */
export class PrimaryPool implements AsyncDisposable {
  readonly #options: PoolOptions & { clock: () => number; answers: AnswerWatch }
  readonly #metrics: Metrics
  readonly #search: PrimarySearch
  readonly #idle = new Set<PostgresClient>()
  /** Callers without a connection, in the order in which they get one. */
  readonly #waiting = new Set<Waiting>()
  readonly #open = new Set<PostgresClient>()
  readonly #uses: ConnectionUses
  readonly #connecting = { count: 0, since: 0 }
  #isClosed = false
  #backoff: { until: number; error: unknown } | undefined
  readonly #refusals = new Refusals()

  constructor(options: PoolOptions) {
    const { metrics = new Metrics(), incidents, clock = () => performance.now() } = options
    const { answers = new AnswerWatch(options.timeouts) } = options
    this.#options = { ...options, clock, answers }
    this.#uses = new ConnectionUses({ maxConnections: options.maxConnections, clock })
    this.#metrics = metrics
    this.#search = new PrimarySearch({
      ...{ ...options, metrics, timeoutMs: options.timeouts.connect, answers },
      // The former primary may be silent for long, and what it commits now is lost.
      onChange: (primary) => {
        for (const client of this.#open) if (client.host !== primary) client.destroy()
      },
    })
    this.#metrics.addRead('slipway_store_pool_connections', () => this.#idle.size, { state: 'idle' })
    this.#metrics.addRead('slipway_store_pool_connections', () => this.#open.size - this.#idle.size, {
      state: 'used',
    })
    this.#metrics.addRead('slipway_store_pool_waiting', () => this.#waiting.size)
    incidents?.watch('database-unreachable', () =>
      this.#open.size === 0 || answers.isHanging ? this.#search.failure : undefined,
    )
    if (incidents) this.#refusals.watch(incidents, this)
    const refused = metrics.counter('slipway_store_pool_timeouts_total')
    const isBusy = watchGrowth(() => refused.value)
    incidents?.watch('database-busy', () => (isBusy() ? { ...this.#search.failure } : undefined))
  }

  /** The connection returns to the pool once its commit is answered, unless it was lost. */
  async use<T>(
    work: (connection: Connection) => Promise<T>,
    use: Use = 'read',
    limits: WaitLimits = {},
  ): Promise<T> {
    const { client, end: endUse } = await this.#acquire(use, limits)
    try {
      return await work(client)
    } catch (error) {
      this.#refusals.note(error)
      if (isConnectionLost(error) && !client.unanswered) client.destroy()
      throw error
    } finally {
      const { unanswered } = client
      const end = () => {
        endUse(unanswered === undefined)
        this.#release(client)
      }
      if (unanswered) void untilAnswered(client, this).then(end)
      else end()
    }
  }

  /** A connection outside the limit of the pool, for the feed of changes. */
  connect(): Promise<Connection & Disposable> {
    return this.#search.connect()
  }

  /** How long the first of the reads without a connection has waited for one; 0 while further ones are being opened. */
  readWaitMs(): number {
    const now = this.#options.clock()
    const isOpening = this.#connecting.count > 0 && !this.#search.failure
    if (isOpening && now - this.#connecting.since <= this.#options.timeouts.acquire) return 0
    return now - (this.#waiting.values().find(({ use }) => use === 'read')?.since ?? now)
  }

  /** Closes what is not in use, when the host may not be the primary or not be reachable any more. */
  closeIdle(): void {
    for (const client of this.#idle) client.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    this.#rejectWaiting(unavailable())
    for (const client of this.#open) client.close()
    this.#search.close()
    this.#options.answers[Symbol.dispose]()
  }

  #acquire(
    use: Use,
    { timeoutMs = this.#options.timeouts[DEADLINES[use]], signal }: WaitLimits,
  ): Promise<Acquired> {
    if (this.#isClosed) throw unavailable()
    if (this.#waiting.size >= MAX_WAITING) throw this.#countTimeout()
    if (this.#open.size === 0 && this.#backoff && performance.now() < this.#backoff.until)
      throw this.#backoff.error
    const { answers } = this.#options
    const restMs = answers.limitWait(timeoutMs)
    const { promise, resolve, reject } = Promise.withResolvers<Acquired>()
    const waiting = { use, since: this.#options.clock(), resolve, reject }
    this.#waiting.add(waiting)
    this.#serve()
    if (!this.#waiting.has(waiting)) return promise
    const before = [...this.#waiting].filter((other) => other.use === use).length - 1
    if (this.#uses.estimateWaitMs(use, before) > timeoutMs) {
      this.#waiting.delete(waiting)
      throw this.#countTimeout()
    }
    const timer = setTimeout(() => {
      if (this.#waiting.delete(waiting)) reject(this.#countTimeout())
    }, restMs)
    const end = answers.expect(timeoutMs, () => this.#waiting.delete(waiting) && reject(unavailable()))
    const abort = () => this.#waiting.delete(waiting) && reject(signal!.reason)
    signal?.addEventListener('abort', abort)
    return promise.finally(() => {
      clearTimeout(timer)
      end()
      signal?.removeEventListener('abort', abort)
    })
  }

  #countTimeout(): ApiError {
    this.#metrics.counter('slipway_store_pool_timeouts_total').add()
    return unavailable()
  }

  #serve(): void {
    for (const client of this.#idle) {
      const waiting = this.#findNext()
      if (!waiting) return
      this.#idle.delete(client)
      this.#waiting.delete(waiting)
      waiting.resolve({ client, end: this.#uses.begin(waiting.use) })
    }
    if (!this.#findNext() || this.#connecting.count >= this.#waiting.size) return
    if (this.#backoff && performance.now() < this.#backoff.until) return
    if (this.#open.size + this.#connecting.count < this.#options.maxConnections) this.#addConnection()
  }

  #findNext(): Waiting | undefined {
    return this.#waiting.values().find(({ use }) => this.#uses.mayBegin(use))
  }

  #addConnection(): void {
    if (this.#connecting.count++ === 0) this.#connecting.since = this.#options.clock()
    this.#search.connect().then(
      (client) => {
        this.#connecting.count--
        this.#backoff = undefined
        client.onClose = () => this.#forget(client)
        this.#open.add(client)
        this.#release(client)
      },
      (error: unknown) => {
        this.#connecting.count--
        const backoffMs = MIN_BACKOFF_MS + Math.random() * (MAX_BACKOFF_MS - MIN_BACKOFF_MS)
        const backoff = { until: performance.now() + backoffMs, error }
        this.#backoff = backoff
        if (this.#open.size + this.#connecting.count === 0) return this.#rejectWaiting(error)
        // A timer can run before its time by a millisecond.
        const end = () => {
          if (this.#backoff === backoff) this.#backoff = undefined
          this.#serve()
        }
        setTimeout(end, backoffMs).unref()
      },
    )
  }

  #release(client: PostgresClient): void {
    if (this.#isClosed) client.close()
    if (!client.isClosed) this.#idle.add(client)
    this.#serve()
  }

  #forget(client: PostgresClient): void {
    this.#idle.delete(client)
    this.#open.delete(client)
    if (!this.#isClosed) this.#serve()
  }

  #rejectWaiting(error: unknown): void {
    for (const { reject } of this.#waiting) reject(error)
    this.#waiting.clear()
  }
}

/** Changes that the server refused in a state that its operator ends. */
class Refusals {
  #readOnly: { reason: string } | undefined
  #full = { count: 0, reason: '' }

  note(error: unknown): void {
    if (isReadOnly(error)) this.#readOnly = { reason: (error as Error).message }
    if (isDiskFull(error)) this.#full = { count: this.#full.count + 1, reason: (error as Error).message }
  }

  watch(incidents: Incidents, pool: PrimaryPool): void {
    incidents.watch('database-read-only', async () => {
      if (this.#readOnly && !(await isPrimaryReadOnly(pool))) this.#readOnly = undefined
      return this.#readOnly
    })
    const isFull = watchGrowth(() => this.#full.count, FULL_READINGS)
    incidents.watch('database-full', () => (isFull() ? { reason: this.#full.reason } : undefined))
  }
}

/** What refused a change may have been a standby. */
async function isPrimaryReadOnly(pool: PrimaryPool): Promise<boolean> {
  const query = { text: `select current_setting('transaction_read_only') as state` }
  const { rows } = await pool.use((connection) => connection.query<{ state: string }>(query, SECOND_MS))
  return rows[0]?.state === 'on'
}

const CHECK_INTERVAL_MS = 5000

/** How long the connection to a pooler is kept, whose process at the server is not known. */
const MAX_UNKNOWN_MS = 60_000

/** Resolves at the answer to the commit, or when the server no longer has the connection: it may end without a word. */
async function untilAnswered(client: PostgresClient, pool: PrimaryPool): Promise<void> {
  const since = performance.now()
  const check = async () => {
    const { processId } = client
    const isGone =
      processId === undefined
        ? performance.now() - since > MAX_UNKNOWN_MS
        : !(await hasProcess(pool, processId))
    if (isGone) client.destroy()
  }
  const timer = setInterval(() => void check().catch(() => undefined), CHECK_INTERVAL_MS).unref()
  await client.unanswered
  clearInterval(timer)
}

async function hasProcess(pool: PrimaryPool, id: number): Promise<boolean> {
  const text = `select from pg_stat_activity where pid = $1 and application_name = 'slipway'`
  const query = { text, values: [id] }
  const { rows } = await pool.use((connection) => connection.query(query, CHECK_INTERVAL_MS))
  return rows.length > 0
}
