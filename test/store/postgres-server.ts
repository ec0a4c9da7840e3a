import { after } from 'node:test'
import { type Postgres, startPostgres } from '../tools/postgres.ts'

let server: Promise<Postgres> | undefined

after(async () => (await server)?.[Symbol.asyncDispose]())

/** The server of all tests of this process; each test has a database of its own. */
export function postgresServer(): Promise<Postgres> {
  server ??= startPostgres()
  return server
}
