import { after, before, describe } from 'node:test'
import { requires } from '../tools/part.ts'
import { startPgBouncer } from '../tools/pgbouncer.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { storeSessions } from './contract.ts'
import { PostgresTestDatabases } from './test-database.ts'

/** Each statement outside of a transaction may reach another session of the server. */
describe('the store behind a transaction pooler', requires('postgres', 'pgbouncer'), () => {
  const stack = new AsyncDisposableStack()
  let databases: PostgresTestDatabases
  before(async () => {
    const pooler = stack.use(await startPgBouncer((await sharedPostgres()).port))
    databases = stack.use(await PostgresTestDatabases.create(pooler.ports[0]))
  })
  after(() => stack.disposeAsync())

  storeSessions({ name: 'PostgreSQL behind a transaction pooler', fresh: () => databases.next() })
})
