import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStore } from '../../server/store/sqlite.ts'
import type { Store } from '../../server/store/store.ts'

/** Where the metadata of one test lives. Its address can be handed to other processes. */
export interface Place extends AsyncDisposable {
  address: string
}

/** Opens what is at an address, as one more process would. */
export function openStore(address: string): Promise<Store> {
  const url = new URL(address)
  switch (url.protocol) {
    case 'sqlite:':
      return sqliteStore({ file: decodeURIComponent(url.pathname), clock: Date.now, pollMilliseconds: 20 })
  }
  throw new Error(`no engine is at ${address}`)
}

/** A folder of its own for a database of SQLite. */
export async function freshSqlite(): Promise<Place & { file: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-store-'))
  const file = join(folder, 'slipway.db')
  return {
    file,
    address: `sqlite:${file}`,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}
