import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresStore } from '../../server/store/postgres/postgres.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import type { Store } from '../../server/store/store.ts'
import { PATIENT_TIMEOUTS } from '../support/engines.ts'

/** The database of one test. Other processes can open it by its address. */
export interface TestDatabase extends AsyncDisposable {
  address: string
  /** The address of another database, without tables. */
  createEmpty(): Promise<string>
}

/** Opens the database at an address, as another process does. */
export function openStore(address: string): Promise<Store> {
  const url = new URL(address)
  switch (url.protocol) {
    case 'sqlite:':
      return sqliteStore({ file: decodeURIComponent(url.pathname), clock: Date.now, pollIntervalMs: 20 })
    case 'postgres:':
      return postgresStore({ url: address, pollIntervalMs: 20, timeouts: PATIENT_TIMEOUTS })
  }
  throw new Error(`no engine is at ${address}`)
}

/** Creates a temporary folder for an SQLite database. */
export async function freshSqlite(): Promise<TestDatabase & { file: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-store-'))
  const file = join(folder, 'slipway.db')
  return {
    file,
    address: `sqlite:${file}`,
    createEmpty: async () => `sqlite:${file}-${randomUUID()}`,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}
