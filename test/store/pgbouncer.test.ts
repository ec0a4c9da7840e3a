import { after } from 'node:test'
import type { Daemon } from '../tools/daemon.ts'
import { requires } from '../tools/part.ts'
import { startPgBouncer } from '../tools/pgbouncer.ts'
import { EMPTY, sharedPostgres } from '../tools/postgres.ts'
import { storeContract } from './contract.ts'

let pooler: Promise<Daemon> | undefined

after(async () => (await pooler)?.[Symbol.asyncDispose]())

/** Each statement outside of a transaction may reach another session of the server. */
storeContract(
  'PostgreSQL behind a transaction pooler',
  async () => {
    const server = await sharedPostgres()
    pooler ??= startPgBouncer(server.port)
    const port = (await pooler).ports[0]!
    const behind = (url: string) => server.url(new URL(url).pathname.slice(1), port)
    return {
      address: behind(await server.createDatabase()),
      createEmpty: async () => behind(await server.createDatabase(EMPTY)),
      [Symbol.asyncDispose]: async () => undefined,
    }
  },
  requires('postgres', 'pgbouncer'),
)
