import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  Kysely,
  type KyselyPlugin,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  SqliteAdapter,
  SqliteDialect,
  type SqliteStatement,
} from '#kysely'
import type { Schema } from './schema.ts'
import type { DirectAdapter } from './statement.ts'

/** Longer statements have long lists of values, which rarely repeat. */
const MAX_CACHED_SQL_LENGTH = 4000

/** `call` wraps every call of `node:sqlite`. Compiled statements pass no layers of Kysely, which would cost as much. */
export function createKysely(
  connection: () => DatabaseSync,
  call = <T>(work: () => T): T => work(),
  beforeQuery: () => Promise<unknown> | undefined = () => undefined,
): Kysely<Schema> {
  const cache = new WeakMap<DatabaseSync, Map<string, SqliteStatement>>()
  const compile = (db: DatabaseSync, sql: string): SqliteStatement => {
    const statement = call(() => db.prepare(sql))
    const values = (parameters: readonly unknown[]) => parameters as SQLInputValue[]
    return {
      reader: statement.columns().length > 0,
      all: (parameters) => call(() => statement.all(...values(parameters))),
      run: (parameters) => call(() => statement.run(...values(parameters))),
      iterate: (parameters) => statement.iterate(...values(parameters)) as IterableIterator<unknown>,
    }
  }
  const prepare = (sql: string): SqliteStatement => {
    const db = connection()
    if ((sql === 'begin' && db.isTransaction) || (sql === 'rollback' && !db.isTransaction))
      return NOOP_STATEMENT
    beginTurn()
    const statements = cache.get(db) ?? new Map<string, SqliteStatement>()
    cache.set(db, statements)
    const known = statements.get(sql)
    if (known) return known
    const made = compile(db, sql)
    if (sql.length < MAX_CACHED_SQL_LENGTH) {
      if (statements.size >= 500) statements.clear()
      statements.set(sql, made)
    }
    return made
  }
  const dialect = new SqliteDialect({ database: { close: () => undefined, prepare } })
  const executeNow: DirectAdapter['execute'] = (sql, parameters) => {
    const made = prepare(sql)
    const result = made.reader
      ? { rows: made.all(parameters) }
      : { rows: [], numAffectedRows: BigInt(made.run(parameters).changes) }
    return isLongTurn() ? nextTurn(result) : result
  }
  // Without a promise where nothing waits: it would cost as much as a small statement.
  const execute: DirectAdapter['execute'] = (sql, parameters) =>
    call(beforeQuery)?.then(() => executeNow(sql, parameters)) ?? executeNow(sql, parameters)
  return new Kysely<Schema>({
    plugins: [TURN_LIMIT],
    dialect: {
      createAdapter: () => new Adapter(execute),
      createIntrospector: (db) => dialect.createIntrospector(db),
      createQueryCompiler: () => dialect.createQueryCompiler(),
      createDriver() {
        const driver = dialect.createDriver()
        const acquire = driver.acquireConnection.bind(driver)
        driver.acquireConnection = () => call(beforeQuery)?.then(() => acquire()) ?? acquire()
        return driver
      },
    },
  })
}

class Adapter extends SqliteAdapter implements DirectAdapter {
  readonly execute: DirectAdapter['execute']

  constructor(execute: DirectAdapter['execute']) {
    super()
    this.execute = execute
  }

  /** Statements are synchronous, and writes wait for each other before. A lock of Kysely would survive a failed `beforeQuery`. */
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

/** The transaction has begun already, or SQLite rolled it back after an error. */
const NOOP_STATEMENT: SqliteStatement = {
  reader: false,
  all: () => [],
  run: () => ({ changes: 0, lastInsertRowid: 0 }),
  iterate: () => [][Symbol.iterator](),
}

/** How long the statements of a turn of the event loop may take, exceeded by at most one statement. */
const MAX_TURN_MS = 10

/** When the first statement of the current turn began, on the monotonic clock. */
let startedAt: number | undefined

function beginTurn(): void {
  if (startedAt !== undefined) return
  startedAt = performance.now()
  setImmediate(() => {
    startedAt = undefined
  })
}

/** Whether other work should run before the next statement: awaiting the results of statements does not return to the event loop. */
function isLongTurn(): boolean {
  return startedAt !== undefined && performance.now() - startedAt >= MAX_TURN_MS
}

const TURN_LIMIT: KyselyPlugin = {
  transformQuery: ({ node }: PluginTransformQueryArgs) => node,

  async transformResult({ result }: PluginTransformResultArgs) {
    if (isLongTurn()) await nextTurn()
    return result
  },
}
