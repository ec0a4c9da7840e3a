import pg from 'pg'
import type { Cluster } from './connection-url.ts'
import { isConnectionLost, QueryTimeoutError, unavailable } from './errors.ts'

interface PoolOptions {
  cluster: Cluster
  maxConnections: number
  /** How long a caller waits for a connection, including connecting; then UNAVAILABLE. */
  acquireTimeoutMs: number
}

/** A connection to the primary. */
export interface Connection {
  /** Rejects with QueryTimeoutError after `timeoutMs`; the connection is then closed, because its state is unknown. */
  query<Row extends object>(query: Query, timeoutMs: number): Promise<pg.QueryResult<Row>>
  onNotification(listener: () => void): void
}

export interface Query {
  /** Several statements without values are one message. */
  text: string
  values?: unknown[]
}

interface Waiting {
  resolve(client: PooledClient): void
  reject(error: unknown): void
}

const INT8_OID = 20

/** Times, sizes and counts fit into a number. */
const TYPES = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8_OID ? Number : pg.types.getTypeParser(oid, format as 'text'),
}

/**
 * Connections to the primary of a cluster. Of several hosts it uses the one that is not in recovery, and searches
 * again after a connection was lost.
 */
export class PrimaryPool implements AsyncDisposable {
  readonly #options: PoolOptions
  readonly #idle: PooledClient[] = []
  readonly #waiting: Waiting[] = []
  readonly #open = new Set<PooledClient>()
  #connecting = 0
  #isClosed = false
  /** The host that was the primary. */
  #preferred = 0

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Runs `work` with a connection of its own, which returns to the pool unless it was lost. */
  async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const client = await this.#acquire()
    try {
      return await work(client)
    } catch (error) {
      if (isConnectionLost(error)) client.close()
      throw error
    } finally {
      this.#release(client)
    }
  }

  /** A connection outside the limit of the pool, for the feed of changes. */
  async connect(): Promise<Connection & Disposable> {
    return this.#connect(performance.now() + this.#options.acquireTimeoutMs)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    for (const waiting of this.#waiting.splice(0)) waiting.reject(unavailable())
    for (const client of this.#open) client.close()
  }

  async #acquire(): Promise<PooledClient> {
    if (this.#isClosed) throw unavailable()
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) if (!idle.isClosed) return idle
    const deadline = performance.now() + this.#options.acquireTimeoutMs
    if (this.#open.size + this.#connecting >= this.#options.maxConnections) return this.#wait(deadline)
    this.#connecting++
    try {
      const client = await this.#connect(deadline)
      this.#open.add(client)
      return client
    } finally {
      this.#connecting--
    }
  }

  #wait(deadline: number): Promise<PooledClient> {
    const { promise, resolve, reject } = Promise.withResolvers<PooledClient>()
    const waiting = { resolve, reject }
    this.#waiting.push(waiting)
    const timer = setTimeout(() => {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
      reject(unavailable())
    }, deadline - performance.now())
    return promise.finally(() => clearTimeout(timer))
  }

  #release(client: PooledClient): void {
    if (client.isClosed || this.#isClosed) {
      this.#open.delete(client)
      client.close()
      // A place is free, so the next caller may connect.
      const waiting = this.#waiting.shift()
      if (waiting) this.#acquire().then(waiting.resolve, waiting.reject)
      return
    }
    const waiting = this.#waiting.shift()
    if (waiting) waiting.resolve(client)
    else this.#idle.push(client)
  }

  async #connect(deadline: number): Promise<PooledClient> {
    const { hosts } = this.#options.cluster
    let failure: unknown
    for (let turn = 0; turn < hosts.length; turn++) {
      const index = (this.#preferred + turn) % hosts.length
      const remainingMs = Math.max(1, deadline - performance.now())
      const client = new PooledClient(this.#options.cluster, index, remainingMs)
      try {
        if (await client.connectToPrimary(remainingMs)) {
          this.#preferred = index
          return client
        }
      } catch (error) {
        failure = error
      }
      client.close()
    }
    throw unavailable(failure ?? new Error('no host of the database URL is a primary'))
  }
}

class PooledClient implements Connection, Disposable {
  readonly #client: pg.Client
  isClosed = false

  constructor({ hosts, config }: Cluster, index: number, connectionTimeoutMillis: number) {
    this.#client = new pg.Client({
      ...config,
      ...hosts[index]!,
      application_name: 'slipway',
      connectionTimeoutMillis,
      keepAlive: true,
      types: TYPES,
    })
    this.#client.on('error', () => this.close())
    this.#client.on('end', () => this.close())
  }

  /** False when the server is in recovery. */
  async connectToPrimary(timeoutMs: number): Promise<boolean> {
    await this.#client.connect()
    const { rows } = await this.query<{ standby: boolean }>(
      { text: 'select pg_is_in_recovery() as standby' },
      timeoutMs,
    )
    return rows[0]?.standby === false
  }

  async query<Row extends object>(query: Query, timeoutMs: number): Promise<pg.QueryResult<Row>> {
    if (this.isClosed) throw unavailable()
    const timeout = Promise.withResolvers<never>()
    const timer = setTimeout(() => timeout.reject(new QueryTimeoutError('the query timed out')), timeoutMs)
    try {
      return await Promise.race([this.#client.query<Row>(query), timeout.promise])
    } catch (error) {
      if (error instanceof QueryTimeoutError) this.close()
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  onNotification(listener: () => void): void {
    this.#client.on('notification', listener)
  }

  /** Ends the connection without waiting for the server. Idempotent. */
  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    void this.#client.end().catch(() => undefined)
  }

  [Symbol.dispose](): void {
    this.close()
  }
}
