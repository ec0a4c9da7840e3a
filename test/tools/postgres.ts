import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chown } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { program } from '../../scripts/program.mjs'
import { postgresStore } from '../../server/store/postgres/postgres.ts'
import { type Daemon, startDaemon } from './daemon.ts'

/** A server of PostgreSQL, whose data a crash of the machine may damage. */
export interface Postgres extends AsyncDisposable {
  /** Creates a database, with all migrations or empty; returns its URL. */
  createDatabase(template?: typeof MIGRATED | typeof EMPTY): Promise<string>
  /** Runs SQL as its superuser, in the database of the URL. */
  run(url: string, sql: string): Promise<pg.QueryResult>
}

const MIGRATED = 'migrated'
export const EMPTY = 'template0'

/** PostgreSQL refuses to run as root. */
const UNPRIVILEGED_USER = { uid: 65534, gid: 65534 }

export async function startPostgres(): Promise<Postgres> {
  const user = process.getuid?.() === 0 ? UNPRIVILEGED_USER : undefined
  const daemon = await startDaemon({
    name: 'postgres',
    ports: 1,
    async prepare(folder, [port]) {
      if (user) await chown(folder, user.uid, user.gid)
      const data = join(folder, 'data')
      const options = [
        '--username=slipway',
        '--auth=trust',
        '--encoding=UTF8',
        '--no-sync',
        '--no-instructions',
      ]
      await promisify(execFile)(program('initdb')!, ['-D', data, ...options], { cwd: folder, ...user })
      const settings = [
        `port=${port}`,
        'listen_addresses=127.0.0.1',
        `unix_socket_directories=${folder}`,
        'fsync=off',
        'max_connections=200',
      ]
      return ['-D', data, ...settings.flatMap((setting) => ['-c', setting])]
    },
    isReady: (line) => line.includes('database system is ready to accept connections'),
    ...(user ? { user } : {}),
  })
  const urlOf = (database: string) => `postgres://slipway@127.0.0.1:${daemon.ports[0]}/${database}`
  await run(urlOf('postgres'), `create database ${MIGRATED}`)
  {
    await using _ = await postgresStore({ url: urlOf(MIGRATED) })
  }
  return {
    async createDatabase(template = MIGRATED) {
      const name = `test_${randomUUID().replaceAll('-', '')}`
      await run(urlOf('postgres'), `create database ${name} template ${template}`)
      return urlOf(name)
    },
    run,
    [Symbol.asyncDispose]: () => stop(daemon, urlOf('postgres')),
  }
}

async function run(url: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await client.query(sql)
  } finally {
    await client.end()
  }
}

/** SIGTERM waits for all clients to disconnect, so they are disconnected first. */
async function stop(daemon: Daemon, url: string): Promise<void> {
  const others = 'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()'
  await run(url, others).catch(() => undefined)
  await daemon[Symbol.asyncDispose]()
}
