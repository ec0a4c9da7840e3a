import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import pg from 'pg'
import { createKysely } from '../../server/store/postgres/kysely.ts'
import { createQueries } from '../../server/store/queries.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { storedBlob } from './rows.ts'
import { openStore } from './test-database.ts'

const NONE = 'not even then'

describe('objects without a row in PostgreSQL', requires('postgres'), () => {
  test('an object that moves to another table between two statements of the search has a row', async () => {
    await using database = await (await sharedPostgres()).borrowDatabase()
    const { url } = database
    await using store = await openStore(url)
    await using stack = new AsyncDisposableStack()
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    stack.defer(() => client.end())
    /** Moves the object before the statement of this number. Returns how many statements the search had. */
    async function search(movedAt: number): Promise<number> {
      const one = storedBlob(`moved at ${movedAt}`)
      const versionId = `v${movedAt}`
      await store.write('durable', {}, (tx) =>
        tx.versions.recordArrivals([{ ...one, versionId, fileNumber: 0 }]),
      )
      let statements = 0
      const db = createKysely(async ({ text, values = [] }) => {
        if (statements++ === movedAt)
          await store.write('durable', {}, async (tx) => {
            await tx.blobs.add('a-site', await tx.versions.takeArrivals(versionId))
          })
        return client.query(text, values)
      })
      const strays = await createQueries(db).blobs.withoutRow([one.object, NONE])
      assert.deepEqual(strays, [NONE], `moved before statement ${movedAt}`)
      return statements
    }
    let statements = 1
    for (let movedAt = 0; movedAt < statements; movedAt++) statements = await search(movedAt)
    assert.ok(statements >= 4)
  })
})
