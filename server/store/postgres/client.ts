import { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { AnswerWatch } from './answer-watch.ts'
import type { Cluster } from './connection-url.ts'
import { OutcomeUnknownError, unavailable, unsupported } from './errors.ts'

export interface Connection {
  /** Rejects with OutcomeUnknownError after `timeoutMs`; the connection is then closed: its state is unknown. */
  query<Row extends object>(query: Query, timeoutMs: number): Promise<pg.QueryResult<Row>>
  /** Whether its statements reach one session of the server: behind a transaction pooler they do not. */
  readonly isSession: boolean
  onNotification(listener: () => void): void
  /** Resolves when the server has answered a commit whose caller no longer waits, or the connection is lost. */
  readonly unanswered: Promise<void> | undefined
}

export interface Query {
  /** Several statements without values are one message. */
  text: string
  values?: unknown[]
  /** Prepares the statement for the rest of the session. Only where `isSession`. */
  name?: string
  /** Never for a durable commit: the server would no longer wait for a standby, and show what is not replicated. */
  isCancelable?: boolean
  /** Whether it commits durably. After its timeout the connection stays open until the server answers. */
  isCommit?: boolean
}

const NUMBER_OIDS: readonly number[] = [pg.types.builtins.INT8, pg.types.builtins.NUMERIC]

/** Times, sizes, counts and sums of them fit into a number. */
const TYPES = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    NUMBER_OIDS.includes(oid) ? Number : pg.types.getTypeParser(oid, format as 'text'),
}

/** Silence of a connection after which the network is probed: Linux waits two hours. */
const KEEP_ALIVE_MS = 5000

/** How long the server has to end a connection that is closed. */
const CLOSE_TIMEOUT_MS = 1000

const CANCEL_TIMEOUT_MS = 1000
const CANCEL_REQUEST_CODE = 80_877_102

/** The function of the server that warns that a commit no longer waits for its standby. */
const REPLICATION_WAIT_ROUTINE = 'SyncRepWaitForLSN'

export class PostgresClient implements Connection, Disposable {
  readonly host: Cluster['hosts'][number]
  readonly #client: pg.Client
  readonly #socket = new Socket()
  readonly #answers: AnswerWatch
  #isPrimary = false
  #isReplicationCanceled = false
  isClosed = false
  isSession = true
  unanswered: Promise<void> | undefined
  onClose: (() => void) | undefined

  constructor({ hosts, config }: Cluster, index: number, answers: AnswerWatch) {
    this.#answers = answers
    this.host = hosts[index]!
    this.#client = new pg.Client({
      ...config,
      ...this.host,
      application_name: 'slipway',
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      stream: () => this.#socket,
      types: TYPES,
    })
    this.#client.on('error', () => this.destroy())
    this.#client.on('end', () => this.destroy())
    this.#client.on('notice', ({ routine }) => {
      if (routine === REPLICATION_WAIT_ROUTINE) this.#isReplicationCanceled = true
    })
  }

  /** False when the server is in recovery. UNAVAILABLE when it is older than `minVersion` (`server_version_num`). */
  async connectToPrimary(timeoutMs: number, minVersion: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs
    await this.#within(timeoutMs, this.#client.connect())
    // With another default of the role, single statements could fail for others at the same time.
    const text = `select pg_is_in_recovery() as standby, pg_backend_pid() as pid,
      current_setting('server_version') as version, current_setting('server_version_num')::int as number,
      set_config('default_transaction_isolation', 'read committed', false)`
    const { rows } = await this.query<{ standby: boolean; pid: number; version: string; number: number }>(
      { text },
      deadline - performance.now(),
    )
    const [server] = rows
    if (server && server.number < minVersion) throw unsupported(server.version)
    this.isSession = server?.pid === this.#backend.processID
    this.#isPrimary = server?.standby === false
    if (this.#isPrimary) this.#answers.noteAnswer()
    return this.#isPrimary
  }

  async query<Row extends object>(query: Query, timeoutMs: number): Promise<pg.QueryResult<Row>> {
    if (this.isClosed || this.unanswered) throw unavailable()
    const answer = this.#client.query<Row>(query)
    try {
      const result = await this.#within(timeoutMs, answer)
      if (this.#isReplicationCanceled) throw new OutcomeUnknownError('the wait for the standby was canceled')
      return result
    } catch (error) {
      if (error instanceof OutcomeUnknownError && query.isCommit && !this.#isReplicationCanceled)
        this.#awaitAnswer(answer)
      else if (error instanceof OutcomeUnknownError) {
        if (query.isCancelable) this.#cancel()
        this.destroy()
      }
      throw error
    }
  }

  /** The identifier of its process at the server; undefined where that is not known. */
  get processId(): number | undefined {
    return this.isSession ? this.#backend.processID : undefined
  }

  onNotification(listener: () => void): void {
    this.#client.on('notification', listener)
  }

  /** Ends an idle connection. Idempotent, as all that closes it. */
  close(): void {
    if (this.isClosed) return
    this.#setClosed()
    void this.#client.end().catch(() => undefined)
    void pause(CLOSE_TIMEOUT_MS, undefined, { ref: false }).then(() => this.#socket.destroy())
  }

  /** Ends the connection without a message to the server, which may not be reachable. */
  destroy(): void {
    this.#socket.destroy()
    this.#setClosed()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /** What identifies the connection to the server; not in the types of `pg`. */
  get #backend(): { processID: number; secretKey: number } {
    return this.#client as unknown as { processID: number; secretKey: number }
  }

  #setClosed(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.onClose?.()
  }

  /** The server holds the locks of the transaction until then, and counts the connection. */
  #awaitAnswer(answer: Promise<unknown>): void {
    const end = () => {
      this.unanswered = undefined
      if (this.#isReplicationCanceled) this.destroy()
    }
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    const onClose = this.onClose
    this.onClose = () => {
      resolve()
      onClose?.()
    }
    this.unanswered = Promise.race([answer, closed]).then(end, end)
  }

  async #within<T>(timeoutMs: number, result: Promise<T>): Promise<T> {
    const timeout = Promise.withResolvers<never>()
    const expire = () => timeout.reject(new OutcomeUnknownError('the query timed out'))
    const timer = setTimeout(expire, Math.max(1, timeoutMs))
    const end = this.#answers.expect(timeoutMs, expire)
    try {
      const answer = await Promise.race([result, timeout.promise])
      // A standby may answer while the primary does not.
      if (this.#isPrimary) this.#answers.noteAnswer()
      return answer
    } finally {
      clearTimeout(timer)
      end()
    }
  }

  /** Asks the server, by a connection of its own, to end the query that it still executes. */
  #cancel(): void {
    const { processID, secretKey } = this.#backend
    const message = Buffer.alloc(16)
    message.writeInt32BE(message.length, 0)
    message.writeInt32BE(CANCEL_REQUEST_CODE, 4)
    message.writeInt32BE(processID, 8)
    message.writeInt32BE(secretKey, 12)
    const { host, port } = this.host
    const socket = new Socket().on('error', () => undefined)
    socket.setTimeout(CANCEL_TIMEOUT_MS, () => socket.destroy()).unref()
    if (host.startsWith('/')) socket.connect(`${host}/.s.PGSQL.${port}`)
    else socket.connect(port, host)
    socket.resume().end(message)
  }
}
