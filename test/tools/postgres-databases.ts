import pg from 'pg'

/** The template of databases with all migrations. */
export const MIGRATED = 'migrated'

/** Half the CPU time of the default, which writes each page to the log too. */
export const COPIED = 'strategy file_copy'

/** A migrated database that one test after another has for itself. */
export interface BorrowedDatabase extends AsyncDisposable {
  url: string
  /** Runs SQL as the superuser of the server. */
  run(sql: string): Promise<pg.QueryResult>
  /** Deletes all rows of the tests before. Stores that are open stay usable. */
  clear(): Promise<void>
}

/** Rows that the migrations or the change feed of an open store have added. */
const KEPT_TABLES = ['applied_migrations', 'schema_compatibility', 'feed_epoch']

/** Cheaper than TRUNCATE for few rows: it creates no files, and keeps the plans of open connections. */
const CLEAR = `do $$
  declare
    name text;
    has_rows boolean;
  begin
    for name in select tablename from pg_tables
      where schemaname = 'public' and tablename not in (${KEPT_TABLES.map((name) => `'${name}'`)})
    loop
      execute format('select exists (select from %I)', name) into has_rows;
      if has_rows then execute format('delete from %I', name); end if;
    end loop;
  end
$$`

const lenders = new Map<string, Lender>()

/**
 * A database of the server at this URL that no other test uses, in any process, until its disposal. A server has as many
 * as are used at the same time: a connection costs 50 ms of CPU time, and a database 120 ms.
 */
export function borrowDatabase(server: string): Promise<BorrowedDatabase> {
  const lender = lenders.get(server) ?? new Lender(server)
  lenders.set(server, lender)
  return lender.borrow()
}

/** Databases are lent by advisory locks of one session, which end with the process. */
class Lender {
  readonly #server: string
  readonly #used = new Set<number>()
  #borrowers = 0
  #session: Promise<pg.Client> | undefined

  constructor(server: string) {
    this.#server = server
  }

  async borrow(): Promise<BorrowedDatabase> {
    this.#borrowers++
    this.#session ??= connect(this.#server)
    const session = await this.#session
    for (let number = 1; ; number++) {
      if (this.#used.has(number)) continue
      // Before the next turn: the session holds each of its locks as often as it has taken it.
      this.#used.add(number)
      const { rows } = await session.query('select pg_try_advisory_lock($1) as has_lock', [number])
      if (rows[0].has_lock) return this.#open(session, number)
      this.#used.delete(number)
    }
  }

  async #open(session: pg.Client, number: number): Promise<BorrowedDatabase> {
    const url = new URL(this.#server)
    const name = `borrowed_${number}`
    url.pathname = name
    const known = await session.query('select from pg_database where datname = $1', [name])
    if (known.rowCount === 0) await session.query(`create database ${name} template ${MIGRATED} ${COPIED}`)
    // Of a process that was killed.
    else
      await session.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
    const client = await connect(url.href)
    const clear = async () => void (await client.query(CLEAR))
    await clear()
    return {
      url: url.href,
      run: (sql) => client.query(sql),
      clear,
      [Symbol.asyncDispose]: async () => {
        await client.end()
        await session.query('select pg_advisory_unlock($1)', [number])
        this.#used.delete(number)
        if (--this.#borrowers > 0) return
        this.#session = undefined
        await session.end()
      },
    }
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  return client
}
