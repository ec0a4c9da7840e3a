import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Store, WriteTransaction } from '../../server/store/store.ts'
import { storedBlob } from '../store/rows.ts'
import { freshSqlite, openStore } from '../store/test-database.ts'
import { anySeed, Random } from '../support/random.ts'
import { ALL_VARIANTS } from '../support/variants.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { PublishingNodes } from './publishing-nodes.ts'

// Collection while other nodes publish the same contents. `SEED=… STEPS=…` repeats a run or makes a longer one.

const SEED = anySeed()
const STEPS = Number(process.env.STEPS ?? (ALL_VARIANTS ? 300 : 60))

for (const engine of ['SQLite', 'PostgreSQL'] as const) {
  describe(`several nodes over ${engine}`, engine === 'SQLite' ? {} : requires('postgres'), () => {
    test('keep the blobs of all kept versions, and delete all others', async (t) => {
      t.diagnostic(`SEED=${SEED}`)
      await using nodes = await openNodes(engine, 3)
      const model = new PublishingNodes(nodes.stores, new Random(SEED))
      await model.run(STEPS)
      t.diagnostic([...model.done].map(([name, count]) => `${count} × ${name}`).join(', '))
    })

    test('can publish bytes again while the collector is between its decision and its commit', async () => {
      await using nodes = await openNodes(engine, 2)
      const [collector, publisher] = nodes.stores as [Store, Store]
      const [old, later] = [storedBlob('x', 'old'), storedBlob('x', 'later')]
      await publisher.write('durable', {}, async (tx) => {
        await tx.blobs.add('one', [old])
        await tx.blobs.removeReferences('one', [old.hash], 1000)
      })
      let publishing: ReturnType<WriteTransaction['blobs']['add']> | undefined
      await collector.write('durable', {}, async (tx) => {
        assert.deepEqual(await tx.blobs.collect(1000, 10), { examined: 1, deleted: 1 })
        publishing ??= publisher.write('durable', { site: 'two' }, (other) => other.blobs.add('two', [later]))
      })
      assert.deepEqual((await publishing)!.objects, new Set([later.object]))
      assert.equal((await publisher.read.blobs.find(old.hash))?.object, later.object)
      assert.deepEqual(await publisher.read.blobs.listDiscarded(0, 10), [old.object])
    })

    test('keep a blob that is referenced while the collector waits for its row', async () => {
      await using nodes = await openNodes(engine, 2)
      const [collector, publisher] = nodes.stores as [Store, Store]
      const old = storedBlob('x', 'old')
      await publisher.write('durable', {}, async (tx) => {
        await tx.blobs.add('one', [old])
        await tx.blobs.removeReferences('one', [old.hash], 1000)
      })
      let collecting: Promise<{ deleted: number }> | undefined
      await publisher.write('durable', { site: 'two' }, async (tx) => {
        await tx.blobs.add('two', [storedBlob('x', 'later')])
        await tx.blobs.addReferences('three', [old.hash])
        // The row is then as the collector has read it.
        await tx.blobs.removeReferences('two', [old.hash], 1000)
        collecting ??= collector.write('durable', {}, (other) => other.blobs.collect(1000, 10))
        if (engine === 'PostgreSQL') await nodes.waitForLock()
      })
      assert.equal((await collecting!).deleted, 0)
      assert.equal((await publisher.read.blobs.find(old.hash))?.object, old.object)
    })
  })
}

/** Stores of several nodes over one new database. */
async function openNodes(engine: 'SQLite' | 'PostgreSQL', count: number) {
  await using stack = new AsyncDisposableStack()
  const server = engine === 'PostgreSQL' ? await sharedPostgres() : undefined
  const database = server ? stack.use(await server.borrowDatabase()) : undefined
  const address = database?.url ?? stack.use(await freshSqlite()).address
  const stores: Store[] = []
  for (let node = 0; node < count; node++) stores.push(stack.use(await openStore(address)))
  const owned = stack.move()
  return {
    stores,
    /** Resolves when a transaction waits for a lock of another one. */
    async waitForLock(): Promise<void> {
      const waiting =
        "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
      while ((await database!.run(waiting)).rowCount === 0);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
