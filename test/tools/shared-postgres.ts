import { after } from 'node:test'
import { type Postgres, startPostgres } from './postgres.ts'

let shared: Promise<Postgres> | undefined

after(async () => (await shared)?.[Symbol.asyncDispose]())

/** The server for all test files of this process: each test creates a database of its own, and kills nothing. */
export function sharedPostgres(): Promise<Postgres> {
  shared ??= startPostgres()
  return shared
}
