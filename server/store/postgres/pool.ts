import { setTimeout as pause } from 'node:timers/promises'
import { Metrics } from '../../lib/metrics.ts'
import { type Connection, PostgresClient } from './client.ts'
import type { Cluster } from './connection-url.ts'
import { isConnectionLost, unavailable } from './errors.ts'

export interface PoolOptions {
  cluster: Cluster
  maxConnections: number
  /** How long a caller waits for a connection, including connecting; then UNAVAILABLE. */
  acquireTimeoutMs: number
  metrics?: Metrics | undefined
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

/** How long the host that was the primary has to answer before the next one is tried at the same time. */
const NEXT_HOST_DELAY_MS = 150

/** Time, in part random, in which callers fail immediately after no host could be reached. */
const MIN_BACKOFF_MS = 50
const MAX_BACKOFF_MS = 200

/**
 * Connections to the primary of a cluster. Of several hosts it uses the one that is not in recovery, and searches
 * again after a connection was lost.
 */
export class PrimaryPool implements AsyncDisposable {
  readonly #options: PoolOptions
  readonly #metrics: Metrics
  readonly #idle = new Set<PostgresClient>()
  /** Callers without a connection, in the order in which they get one. */
  readonly #waiting = new Set<Waiting>()
  readonly #open = new Set<PostgresClient>()
  /** Connections to hosts of which it is not known yet whether they are the primary. */
  readonly #unproven = new Set<PostgresClient>()
  #connecting = 0
  #writing = 0
  #isClosed = false
  /** The host that was the primary. */
  #preferred = 0
  #backoff: { until: number; error: unknown } | undefined

  constructor(options: PoolOptions) {
    this.#options = options
    this.#metrics = options.metrics ?? new Metrics()
    this.#metrics.addRead('slipway_store_pool_connections', () => this.#idle.size, { state: 'idle' })
    this.#metrics.addRead('slipway_store_pool_connections', () => this.#open.size - this.#idle.size, {
      state: 'used',
    })
    this.#metrics.addRead('slipway_store_pool_waiting', () => this.#waiting.size)
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
    return this.#connect()
  }

  /** Closes what is not in use, when the host may not be the primary or not be reachable any more. */
  closeIdle(): void {
    for (const client of this.#idle) client.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    this.#rejectWaiting(unavailable())
    for (const client of this.#open) client.close()
    for (const client of this.#unproven) client.destroy()
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
    this.#connect().then(
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

  /**
   * Connects to the primary. The host that was the primary comes first; the next one is tried when that one fails, or
   * does not answer soon.
   */
  async #connect(): Promise<PostgresClient> {
    const { cluster, acquireTimeoutMs } = this.#options
    const deadline = performance.now() + acquireTimeoutMs
    const { length } = cluster.hosts
    const search = { clients: new Set<PostgresClient>(), isDone: false }
    const attempts: Promise<PostgresClient>[] = []
    for (let turn = 0; turn < length; turn++) {
      const index = (this.#preferred + turn) % length
      attempts.push(this.#attempt(index, { search, deadline, previous: attempts.at(-1) }))
    }
    try {
      const found = await Promise.any(attempts)
      this.#metrics.counter('slipway_store_pool_connects_total', { outcome: 'ok' }).add()
      return found
    } catch (error) {
      this.#metrics.counter('slipway_store_pool_connects_total', { outcome: 'failed' }).add()
      const { errors } = error as AggregateError
      throw unavailable(errors.find((one) => !(one instanceof StandbyError)) ?? errors[0])
    } finally {
      for (const client of search.clients) {
        this.#unproven.delete(client)
        client.destroy()
      }
    }
  }

  async #attempt(index: number, { search, deadline, previous }: Attempt): Promise<PostgresClient> {
    if (previous) {
      const failed = previous.then(
        () => undefined,
        () => undefined,
      )
      await Promise.race([failed, pause(NEXT_HOST_DELAY_MS, undefined, { ref: false })])
    }
    if (search.isDone || this.#isClosed) throw new StandbyError('another host is the primary')
    const client = new PostgresClient(this.#options.cluster, index)
    search.clients.add(client)
    this.#unproven.add(client)
    const isPrimary = await client.connectToPrimary(deadline - performance.now())
    if (!isPrimary || search.isDone) throw new StandbyError('no host of the database URL is a primary')
    search.isDone = true
    search.clients.delete(client)
    this.#unproven.delete(client)
    this.#preferred = index
    return client
  }
}

/** One host of a search for the primary. */
interface Attempt {
  search: { clients: Set<PostgresClient>; isDone: boolean }
  deadline: number
  previous: Promise<PostgresClient> | undefined
}

class StandbyError extends Error {}
