import type { Incidents } from '../../lib/incidents.ts'
import { Metrics } from '../../lib/metrics.ts'
import type { Connection, PostgresClient } from './client.ts'
import type { Cluster } from './connection-url.ts'
import { isConnectionLost, unavailable } from './errors.ts'
import { PrimarySearch } from './primary-search.ts'

export interface PoolOptions {
  cluster: Cluster
  maxConnections: number
  /** How long a caller waits for a connection, including connecting; then UNAVAILABLE. */
  acquireTimeoutMs: number
  minVersion?: number | undefined
  metrics?: Metrics | undefined
  incidents?: Incidents | undefined
}

interface UseOptions {
  /** A write may wait for another one, or for a standby. Some connections are kept for what does not. */
  isWrite?: boolean
}

interface Waiting {
  isWrite: boolean
  resolve(client: PostgresClient): void
  reject(error: unknown): void
}

/** Connections that writes do not use. */
const READ_CONNECTIONS = 2

/** Time, in part random, in which callers fail immediately after no host could be reached. */
const MIN_BACKOFF_MS = 50
const MAX_BACKOFF_MS = 200

/** Connections to the primary of a cluster, which it searches again after a connection was lost. */
export class PrimaryPool implements AsyncDisposable {
  readonly #options: PoolOptions
  readonly #metrics: Metrics
  readonly #search: PrimarySearch
  readonly #idle = new Set<PostgresClient>()
  /** Callers without a connection, in the order in which they get one. */
  readonly #waiting = new Set<Waiting>()
  readonly #open = new Set<PostgresClient>()
  #connecting = 0
  #writing = 0
  #isClosed = false
  #backoff: { until: number; error: unknown } | undefined

  constructor(options: PoolOptions) {
    this.#options = options
    const { metrics = new Metrics(), incidents } = options
    this.#metrics = metrics
    this.#search = new PrimarySearch({ ...options, metrics })
    this.#metrics.addRead('slipway_store_pool_connections', () => this.#idle.size, { state: 'idle' })
    this.#metrics.addRead('slipway_store_pool_connections', () => this.#open.size - this.#idle.size, {
      state: 'used',
    })
    this.#metrics.addRead('slipway_store_pool_waiting', () => this.#waiting.size)
    incidents?.watch('database-unreachable', () => (this.#open.size === 0 ? this.#search.failure : undefined))
  }

  /** Runs `work` with a connection of its own, which returns to the pool unless it was lost. */
  async use<T>(
    work: (connection: Connection) => Promise<T>,
    { isWrite = false }: UseOptions = {},
  ): Promise<T> {
    const client = await this.#acquire(isWrite)
    try {
      return await work(client)
    } catch (error) {
      if (isConnectionLost(error)) client.destroy()
      throw error
    } finally {
      if (isWrite) this.#writing--
      this.#release(client)
    }
  }

  /** A connection outside the limit of the pool, for the feed of changes. */
  connect(): Promise<Connection & Disposable> {
    return this.#search.connect()
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
  }

  #acquire(isWrite: boolean): Promise<PostgresClient> {
    if (this.#isClosed) throw unavailable()
    if (this.#open.size === 0 && this.#backoff && performance.now() < this.#backoff.until)
      throw this.#backoff.error
    const { promise, resolve, reject } = Promise.withResolvers<PostgresClient>()
    const waiting = { isWrite, resolve, reject }
    this.#waiting.add(waiting)
    this.#serve()
    if (!this.#waiting.has(waiting)) return promise
    const timer = setTimeout(() => {
      if (!this.#waiting.delete(waiting)) return
      this.#metrics.counter('slipway_store_pool_timeouts_total').add()
      reject(unavailable())
    }, this.#options.acquireTimeoutMs)
    return promise.finally(() => clearTimeout(timer))
  }

  /** Gives idle connections to callers, and opens one for those that are left, if the limits allow it. */
  #serve(): void {
    for (const client of this.#idle) {
      const waiting = this.#findNext()
      if (!waiting) return
      this.#idle.delete(client)
      this.#waiting.delete(waiting)
      if (waiting.isWrite) this.#writing++
      waiting.resolve(client)
    }
    if (!this.#findNext() || this.#connecting >= this.#waiting.size) return
    if (this.#open.size + this.#connecting < this.#options.maxConnections) this.#addConnection()
  }

  #findNext(): Waiting | undefined {
    const maxWriting = Math.max(1, this.#options.maxConnections - READ_CONNECTIONS)
    return this.#waiting.values().find(({ isWrite }) => !isWrite || this.#writing < maxWriting)
  }

  #addConnection(): void {
    this.#connecting++
    this.#search.connect().then(
      (client) => {
        this.#connecting--
        this.#backoff = undefined
        client.onClose = () => this.#forget(client)
        this.#open.add(client)
        this.#release(client)
      },
      (error: unknown) => {
        this.#connecting--
        if (this.#open.size + this.#connecting > 0) return
        const backoffMs = MIN_BACKOFF_MS + Math.random() * (MAX_BACKOFF_MS - MIN_BACKOFF_MS)
        this.#backoff = { until: performance.now() + backoffMs, error }
        this.#rejectWaiting(error)
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
