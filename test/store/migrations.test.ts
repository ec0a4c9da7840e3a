import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { type Kysely, sql } from 'kysely'
import pg from 'pg'
import { migrations } from '../../server/store/migrate.ts'
import type { Migration } from '../../server/store/migration.ts'
import { parseConnectionUrl } from '../../server/store/postgres/connection-url.ts'
import { migratePostgres } from '../../server/store/postgres/migrate.ts'
import { PrimaryPool } from '../../server/store/postgres/pool.ts'
import { postgresStore } from '../../server/store/postgres/postgres.ts'
import { PATIENT_TIMEOUTS } from '../support/engines.ts'
import { PATIENT } from '../support/patient.ts'
import { pluck } from '../support/pluck.ts'
import { requires } from '../tools/part.ts'
import { EMPTY, sharedPostgres } from '../tools/postgres.ts'
import { ADDS_COLUMN, LAST_KNOWN, REMOVES_COLUMN } from './later-release.ts'
import { openStore } from './test-database.ts'

const LOCK = 1234n
const NODES = 4
const ROWS = 25
const BATCH_ROWS = 10

/** Messages of the log of one node. */
class Messages {
  readonly lines: string[] = []
  info(message: string): void {
    this.lines.push(message)
  }
  warn(message: string): void {
    this.lines.push(message)
  }
}

describe('migrations of a shared database', requires('postgres'), () => {
  const stack = new AsyncDisposableStack()
  after(() => stack.disposeAsync())

  async function createDatabase(template?: typeof EMPTY) {
    const server = await sharedPostgres()
    const { url } = stack.use(await server.createDatabase(template))
    return { url, run: (text: string) => server.run(url, text) }
  }

  async function migrateWith(
    url: string,
    steps: readonly Migration[],
    log = new Messages(),
  ): Promise<Messages> {
    const cluster = parseConnectionUrl(url)
    await using pool = new PrimaryPool({ cluster, maxConnections: 2, timeouts: PATIENT.database })
    await migratePostgres({ pool, lock: LOCK, steps, log })
    return log
  }

  /** A database with a table of rows that have no name yet. */
  async function databaseWithRows() {
    const database = await createDatabase()
    await database.run(
      `create table notes (id int primary key, name text, kind int);
       insert into notes select id, null, id % 5 from generate_series(1, ${ROWS}) as id`,
    )
    return database
  }

  test('of many nodes that start on an empty database one migrates, and the others wait', async () => {
    const { url, run } = await createDatabase(EMPTY)
    const logs = Array.from({ length: NODES }, () => new Messages())
    await using stack = new AsyncDisposableStack()
    const stores = await Promise.all(
      logs.map((log) => postgresStore({ url, log, timeouts: PATIENT_TIMEOUTS })),
    )
    for (const store of stores) stack.use(store)
    const { rows } = await run('select name from applied_migrations order by name')
    assert.deepEqual(pluck(rows, 'name'), pluck(migrations, 'name'))
    const migrated = logs.filter(({ lines }) => lines.includes('migrated the database'))
    assert.equal(migrated.length, 1)
  })

  test('a node that waits for the migration of another one logs it', async () => {
    const { url, run } = await databaseWithRows()
    const [started, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let calls = 0
    const slow: Migration = {
      name: '903-slow',
      fill: async () => {
        // A second call has not waited.
        if (++calls > 1) resumed.resolve()
        started.resolve()
        await resumed.promise
        return true
      },
    }
    const steps = [...migrations, slow]
    const first = migrateWith(url, steps)
    await started.promise
    const log = new Messages()
    const info = log.info.bind(log)
    log.info = (message) => {
      info(message)
      resumed.resolve()
    }
    const second = migrateWith(url, steps, log)
    await Promise.all([first, second])
    assert.deepEqual(log.lines, ['another node migrates the database: waiting for it'])
    assert.equal((await run("select from applied_migrations where name = '903-slow'")).rowCount, 1)
  })

  test('a node of the release before starts beside a newer schema while that allows it', async () => {
    const { url } = await createDatabase()
    await migrateWith(url, [...migrations, ADDS_COLUMN])
    await (await openStore(url))[Symbol.asyncDispose]()
    await migrateWith(url, [...migrations, ADDS_COLUMN, REMOVES_COLUMN])
    await assert.rejects(openStore(url), /newer version of Slipway wrote this data \(migration 90[12]-/)
    await migrateWith(url, [...migrations, ADDS_COLUMN])
  })

  test('rows are filled in batches, and a node that ends between two leaves the rest to the next', async () => {
    const { url, run } = await databaseWithRows()
    let batches = 0
    const fill = async (db: Kysely<unknown>) => {
      if (++batches === 2) throw new Error('killed')
      const { numAffectedRows } = await sql`
        update notes set name = 'note ' || id
        where id in (select id from notes where name is null limit ${BATCH_ROWS})`.execute(db)
      return numAffectedRows! < BATCH_ROWS
    }
    const steps = [...migrations, { name: '904-names', compatibleWith: LAST_KNOWN, fill }]
    await assert.rejects(migrateWith(url, steps), /killed/)
    const unnamed = async () => (await run('select from notes where name is null')).rowCount
    assert.equal(await unnamed(), ROWS - BATCH_ROWS)
    await migrateWith(url, steps)
    assert.equal(await unnamed(), 0)
    await migrateWith(url, steps)
    assert.equal(batches, 4)
  })

  test('other nodes write to a table while an index of it is built', async () => {
    const { url, run } = await databaseWithRows()
    const steps = [
      ...migrations,
      { name: '905-index', indexes: [{ name: 'notes_kind', on: 'notes (kind)' }] },
    ]
    const writer = new pg.Client({ connectionString: url })
    await writer.connect()
    try {
      await writer.query('begin; insert into notes values (100)')
      const migration = migrateWith(url, steps)
      const waiting = `select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like 'create index%'`
      while ((await run(waiting)).rowCount === 0);
      await run("set lock_timeout = '10s'; insert into notes values (101)")
      await writer.query('commit')
      await migration
    } finally {
      await writer.end()
    }
    assert.equal((await run("select from pg_indexes where indexname = 'notes_kind'")).rowCount, 1)
  })

  test('an index whose build was interrupted is built again', async () => {
    const { url, run } = await databaseWithRows()
    const index = { name: 'notes_kind', on: 'notes (kind)', unique: true as const }
    const steps = [...migrations, { name: '906-unique', indexes: [index] }]
    await assert.rejects(migrateWith(url, steps), /could not create unique index|notes_kind/)
    const validity = async () =>
      (await run("select indisvalid from pg_index where indexrelid = 'notes_kind'::regclass")).rows
    assert.deepEqual(await validity(), [{ indisvalid: false }])
    await run('delete from notes where id > 5')
    await migrateWith(url, steps)
    assert.deepEqual(await validity(), [{ indisvalid: true }])
  })
})
