import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { program } from '../../scripts/program.mjs'
import { postgresStore } from '../../server/store/postgres/postgres.ts'
import { PATIENT_TIMEOUTS } from '../support/engines.ts'
import { waitFor } from '../support/wait-for.ts'
import { type Daemon, startDaemon, UNPRIVILEGED_USER } from './daemon.ts'
import { type BorrowedDatabase, borrowDatabase, COPIED, MIGRATED } from './postgres-databases.ts'
import { sharedServer } from './shared-server.ts'

export const EMPTY = 'template0'

type Template = typeof MIGRATED | typeof EMPTY

const MAX_RESTARTS = 100

interface StandbyOptions {
  /** The port by which it reaches the primary; that of the primary by default. */
  through?: number
}

/** A server of PostgreSQL, on a free port of loopback. */
export class Postgres implements AsyncDisposable {
  readonly #daemon: Daemon

  constructor(daemon: Daemon) {
    this.#daemon = daemon
  }

  get port(): number {
    return this.#daemon.ports[0]!
  }

  /** The last lines of its log. */
  get log(): readonly string[] {
    return this.#daemon.output
  }

  /** The URL of a database, by which its superuser connects. */
  url(database = 'postgres', port = this.port): string {
    return databaseUrl(database, port)
  }

  /** Creates a database, with all migrations or empty; returns its URL. */
  readonly createDatabase = (template?: Template): Promise<string> => createDatabase(this.url(), template)

  /** See `borrowDatabase`. */
  readonly borrowDatabase = (): Promise<BorrowedDatabase> => borrowDatabase(this.url())

  /** Runs SQL as its superuser, in the database of the URL. */
  readonly run = runSql

  /** Ends the server with SIGKILL, without a checkpoint; resolves when its first process has ended. */
  kill(): Promise<void> {
    return this.#daemon.signal('SIGKILL')
  }

  /** Ends the server as its operator does: open transactions are rolled back. */
  async stop(): Promise<void> {
    await this.#daemon.signal('SIGINT')
  }

  /** Starts it again after `kill` or `stop`; resolves when it accepts connections. */
  async restart(): Promise<void> {
    for (let starts = 1; ; starts++) {
      try {
        return await this.#daemon.restart()
      } catch (error) {
        // The processes of the killed server end when they notice that their parent has ended.
        if (!/is still in use/.test((error as Error).message) || starts === MAX_RESTARTS) throw error
      }
    }
  }

  /**
   * Starts a standby that confirms each durable commit. The primary waits for it from now on, even when the standby
   * has ended.
   */
  async startStandby({ through = this.port }: StandbyOptions = {}): Promise<Postgres> {
    const daemon = await startServer(async (data) => {
      const source = `host=127.0.0.1 port=${through} user=slipway`
      const options = ['-R', '-X', 'stream', '--checkpoint=fast', '--no-sync', '-d', source]
      await runProgram('pg_basebackup', ['-D', data, ...options])
    })
    await this.run(this.url(), "alter system set synchronous_standby_names = '*'")
    await this.run(this.url(), 'select pg_reload_conf()')
    const states = 'select from pg_stat_replication where sync_state = $$sync$$'
    await waitFor(async () => (await this.run(this.url(), states)).rowCount !== 0)
    return new Postgres(daemon)
  }

  /** Makes a standby the primary, without a standby of its own; resolves when it accepts writes. */
  async promote(): Promise<void> {
    await this.run(this.url(), 'select pg_promote()')
    await this.run(this.url(), 'alter system reset synchronous_standby_names')
    await this.run(this.url(), 'select pg_reload_conf()')
  }

  /** Without a checkpoint, and without waiting for clients: the data are deleted. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#daemon.signal('SIGQUIT')
    await this.#daemon[Symbol.asyncDispose]()
  }
}

/** What tests may do with a server that others use too. */
export type PostgresClient = Pick<Postgres, 'port' | 'url' | 'borrowDatabase' | 'run'>

export interface SharedPostgres extends PostgresClient {
  /** Creates a database, with all migrations or empty, for a test that changes its schema. */
  createDatabase(template?: Template): Promise<OwnDatabase>
}

/** A database of one test, which its disposal deletes. */
export interface OwnDatabase extends AsyncDisposable {
  url: string
}

/** The server that the run shares. */
export async function sharedPostgres(): Promise<SharedPostgres> {
  const server = await sharedServer('postgres')
  const port = Number(new URL(server).port)
  return {
    port,
    url: (database = 'postgres', through = port) => databaseUrl(database, through),
    createDatabase: (template) => ownDatabase(server, template),
    borrowDatabase: () => borrowDatabase(server),
    run: runSql,
  }
}

interface ServerOptions {
  /** Whether a crash of the machine loses nothing, as in production. */
  isDurable?: boolean
  maxConnections?: number
}

export async function startPostgres({
  isDurable = false,
  maxConnections,
}: ServerOptions = {}): Promise<Postgres> {
  const settings = [`fsync=${isDurable ? 'on' : 'off'}`]
  if (maxConnections !== undefined) settings.push(`max_connections=${maxConnections}`)
  const daemon = await startServer(async (data) => {
    const options = [
      '--username=slipway',
      '--auth=trust',
      '--encoding=UTF8',
      '--no-sync',
      '--no-instructions',
    ]
    await runProgram('initdb', ['-D', data, ...options])
  }, settings)
  const server = new Postgres(daemon)
  await server.run(server.url(), `create database ${MIGRATED}`)
  const options = { url: server.url(MIGRATED), timeouts: PATIENT_TIMEOUTS }
  await (await postgresStore(options))[Symbol.asyncDispose]()
  return server
}

/** Creates a database on the server that `startPostgres` has started at this URL; returns its URL. */
export async function createDatabase(server: string, template: Template = MIGRATED): Promise<string> {
  const url = new URL(server)
  url.pathname = `test_${randomUUID().replaceAll('-', '')}`
  await runSql(server, `create database ${url.pathname.slice(1)} template ${template} ${COPIED}`)
  return url.href
}

async function ownDatabase(server: string, template?: Template): Promise<OwnDatabase> {
  const url = await createDatabase(server, template)
  const drop = `drop database ${new URL(url).pathname.slice(1)} with (force)`
  return { url, [Symbol.asyncDispose]: async () => void (await runSql(server, drop)) }
}

function databaseUrl(database: string, port: number): string {
  return `postgres://slipway@127.0.0.1:${port}/${database}`
}

async function runSql(url: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await client.query(sql)
  } finally {
    await client.end()
  }
}

/** Starts a server over the data that `createData` puts into a folder. */
function startServer(
  createData: (folder: string) => Promise<void>,
  settings: string[] = [],
): Promise<Daemon> {
  return startDaemon({
    name: 'postgres',
    ports: 1,
    async prepare(folder, [port]) {
      const data = join(folder, 'data')
      await createData(data)
      const all = [
        `port=${port}`,
        'listen_addresses=127.0.0.1',
        `unix_socket_directories=${folder}`,
        'max_connections=200',
        // In the data folder, not in /dev/shm, where a killed server leaves it.
        'dynamic_shared_memory_type=mmap',
        ...settings,
      ]
      return ['-D', data, ...all.flatMap((setting) => ['-c', setting])]
    },
    isReady: (line) => /database system is ready to accept (read-only )?connections/.test(line),
    refusesRoot: true,
  })
}

async function runProgram(name: string, args: string[]): Promise<void> {
  await promisify(execFile)(program(name)!, args, { cwd: '/', ...UNPRIVILEGED_USER })
}
