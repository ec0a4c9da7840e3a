import { join } from 'node:path'
import { postgresStore } from '../../server/store/postgres/postgres.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import type { Store } from '../../server/store/store.ts'
import { PATIENT_TIMEOUTS } from '../support/engines.ts'
import { PATIENT } from '../support/patient.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { type SharedPostgres, sharedPostgres } from '../tools/postgres.ts'
import type { BorrowedDatabase } from '../tools/postgres-databases.ts'

/** The database of one test. Other processes can open it by its address. */
export interface TestDatabase extends AsyncDisposable {
  address: string
  /** Opens it as another process does; `new` when it must not have seen anything before. All are closed with it. */
  open(kind?: 'new'): Promise<Store>
}

/** Opens the database at an address, as another process does. */
export function openStore(address: string): Promise<Store> {
  const url = new URL(address)
  switch (url.protocol) {
    case 'sqlite:':
      return sqliteStore({
        file: decodeURIComponent(url.pathname),
        clock: Date.now,
        deadlines: PATIENT,
        pollIntervalMs: 20,
      })
    case 'postgres:':
      return postgresStore({ url: address, timeouts: PATIENT_TIMEOUTS })
  }
  throw new Error(`no engine is at ${address}`)
}

/** Creates a temporary folder for an SQLite database. */
export async function freshSqlite(): Promise<TestDatabase & { file: string }> {
  const folder = await memoryFolder()
  const file = join(folder.path, 'slipway.db')
  const address = `sqlite:${file}`
  const stack = new AsyncDisposableStack()
  stack.use(folder)
  return {
    file,
    address,
    open: async () => stack.use(await openStore(address)),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/**
 * A database of PostgreSQL for tests one after another. The stores that one leaves open are those of the next: opening
 * one costs 120 ms of CPU time.
 */
export class PostgresTestDatabases implements AsyncDisposable {
  readonly #server: SharedPostgres
  readonly #borrowed: BorrowedDatabase
  readonly #port: number
  readonly #idle: Store[] = []
  readonly #closed = new WeakSet<Store>()
  readonly #stack: AsyncDisposableStack

  /** `port` is that of a pooler. */
  static async create(port?: number): Promise<PostgresTestDatabases> {
    const server = await sharedPostgres()
    return new PostgresTestDatabases(server, await server.borrowDatabase(), port ?? server.port)
  }

  private constructor(server: SharedPostgres, borrowed: BorrowedDatabase, port: number) {
    this.#server = server
    this.#borrowed = borrowed
    this.#port = port
    this.#stack = new AsyncDisposableStack()
    this.#stack.use(borrowed)
  }

  /** Without the rows of the test before, and with no change of it left to notify of. */
  async next(): Promise<TestDatabase> {
    await this.#borrowed.clear()
    await Promise.all(this.#idle.map((store) => store.pollChanges()))
    const address = this.#reach(this.#borrowed.url)
    const used: Store[] = []
    const closed = this.#closed
    const openNew = async () => {
      const store = this.#stack.use(await openStore(address))
      const opened: Store = {
        ...store,
        async [Symbol.asyncDispose]() {
          closed.add(opened)
          await store[Symbol.asyncDispose]()
        },
      }
      return opened
    }
    return {
      address,
      open: async (kind) => {
        const store = (kind === undefined ? this.#idle.pop() : undefined) ?? (await openNew())
        used.push(store)
        return store
      },
      [Symbol.asyncDispose]: async () => void this.#idle.push(...used.filter((store) => !closed.has(store))),
    }
  }

  #reach(url: string): string {
    return this.#server.url(new URL(url).pathname.slice(1), this.#port)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync()
  }
}
