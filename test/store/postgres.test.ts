import { after } from 'node:test'
import { requires } from '../tools/part.ts'
import { EMPTY, type Postgres, startPostgres } from '../tools/postgres.ts'
import { storeContract } from './contract.ts'

let server: Promise<Postgres> | undefined

after(async () => (await server)?.[Symbol.asyncDispose]())

storeContract(
  'PostgreSQL',
  async () => {
    server ??= startPostgres()
    const { createDatabase } = await server
    return {
      address: await createDatabase(),
      createEmpty: () => createDatabase(EMPTY),
      [Symbol.asyncDispose]: async () => undefined,
    }
  },
  requires('postgres'),
)
