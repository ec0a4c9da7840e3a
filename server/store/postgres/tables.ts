import { DEADLINES } from '../../lib/deadlines.ts'
import type { Tables } from '../transfer.ts'
import { parseConnectionUrl } from './connection-url.ts'
import { createKysely } from './kysely.ts'
import { PrimaryPool } from './pool.ts'

/** A page of rows may be large, and a count reads a whole table. */
const STATEMENT_TIMEOUT_MS = 10 * 60_000

/** The tables of a migrated database; those of a source as they are now, whatever is written later. */
export async function postgresTables(url: string, { isSource }: { isSource: boolean }): Promise<Tables> {
  await using stack = new AsyncDisposableStack()
  const cluster = parseConnectionUrl(url)
  const pool = stack.use(new PrimaryPool({ cluster, maxConnections: 1, timeouts: DEADLINES.database }))
  const connection = stack.use(await pool.connect())
  const db = createKysely((query) => connection.query(query, STATEMENT_TIMEOUT_MS))
  if (isSource)
    await connection.query({ text: 'begin isolation level repeatable read read only' }, STATEMENT_TIMEOUT_MS)
  const opened = stack.move()
  return { db, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}
