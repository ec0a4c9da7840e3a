import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Store } from '../../server/store/store.ts'
import { siteRow } from '../store/rows.ts'
import { waitFor } from '../support/wait-for.ts'
import { requires } from '../tools/part.ts'
import { isUnavailable, recordChanges, whenReconnected } from './proxied-store.ts'
import { ReplicatedPostgres } from './replicated-postgres.ts'

const WRITERS = 4

/** Writes of each writer before and after a failover. */
const WRITES = 3

describe('PostgreSQL with a synchronous standby', requires('postgres'), () => {
  let cluster: ReplicatedPostgres
  before(async () => {
    cluster = await ReplicatedPostgres.start()
  })
  after(() => cluster[Symbol.asyncDispose]())

  test('a commit that waits for its standby is seen after its answer, although later ones were seen before', async () => {
    await using stack = new AsyncDisposableStack()
    const url = await cluster.createDatabase()
    const [one, other] = [stack.use(await cluster.openStore(url)), stack.use(await cluster.openStore(url))]
    const changes = recordChanges(other)
    stack.defer(() => cluster.replication.resume())
    cluster.replication.stop()
    const slow = one.write('durable', {}, async (tx) => {
      await tx.sites.insert(siteRow('slow'))
      await tx.notifyChanged('slow')
    })
    await cluster.untilCommitWaits(url)
    await one.write('relaxed', {}, (tx) => tx.notifyChanged('quick'))
    await other.pollChanges()
    assert.deepEqual(changes.names, ['quick'])
    assert.equal(await other.read.sites.bySlug('slow'), undefined)
    cluster.replication.resume()
    await slow
    await other.pollChanges()
    assert.deepEqual(changes.names, ['quick', 'slow'])
  })

  test('a commit that an operator stops waiting for its standby is not reported as done', async () => {
    await using stack = new AsyncDisposableStack()
    const url = await cluster.createDatabase()
    const store = stack.use(await cluster.openStore(url))
    stack.defer(() => cluster.replication.resume())
    cluster.replication.stop()
    const writing = store.write('durable', {}, (tx) => tx.sites.insert(siteRow('a-site')))
    const outcome = assert.rejects(writing, isUnavailable)
    const pid = await cluster.untilCommitWaits(url)
    await cluster.run(url, `select pg_cancel_backend(${pid})`)
    await outcome
  })

  test('a crash of one process of the server makes all nodes revalidate everything', async () => {
    await using stack = new AsyncDisposableStack()
    const url = await cluster.createDatabase()
    const stores = [stack.use(await cluster.openStore(url)), stack.use(await cluster.openStore(url))]
    const changes = stores.map(recordChanges)
    const [backend] = await cluster.run(
      url,
      `select pid from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() limit 1`,
    )
    process.kill(backend!.pid as number, 'SIGKILL')
    await waitFor(() => cluster.primary.log.some((line) => line.includes('reinitializing')))
    for (const store of stores) await whenReconnected(() => store.pollChanges())
    await stores[0]!.write('relaxed', {}, (tx) => tx.notifyChanged('later'))
    for (const store of stores) await store.pollChanges()
    for (const { names } of changes) assert.deepEqual(new Set(names), new Set(['everything', 'later']))
  })

  test('a primary that is killed under load loses nothing that was acknowledged as durable', async (t) => {
    await using stack = new AsyncDisposableStack()
    const url = await cluster.createDatabase()
    const other = stack.use(await cluster.openStore(url))
    const changes = recordChanges(other)
    const writers = await Promise.all(
      Array.from(
        { length: WRITERS },
        async (_, index) => new SiteWriter(stack.use(await cluster.openStore(url)), index),
      ),
    )
    await Promise.all(writers.map((writer) => writer.write(WRITES)))
    const load = new AbortController()
    const writing = writers.map((writer) => writer.writeUntil(load.signal))
    cluster.replication.stop()
    // The control: what is not replicated is lost.
    await other.write('relaxed', {}, (tx) => tx.sites.insert(siteRow('relaxed')))
    changes.names.length = 0
    await cluster.failOver()
    const promotedAt = performance.now()
    load.abort()
    await Promise.all(writing)
    await Promise.all(writers.map((writer) => writer.write(WRITES)))
    t.diagnostic(`all writers write ${Math.round(performance.now() - promotedAt)} ms after the promotion`)
    await whenReconnected(() => other.pollChanges())
    assert.ok(changes.names.includes('everything'))
    const acknowledged = writers.flatMap((writer) => writer.acknowledged)
    const found = await Promise.all(acknowledged.map((slug) => other.read.sites.bySlug(slug)))
    assert.deepEqual(
      acknowledged.filter((_, index) => !found[index]),
      [],
    )
    assert.equal(await other.read.sites.bySlug('relaxed'), undefined)
  })
})

/** Publishes sites of its own, again and again when the database is away. */
class SiteWriter {
  readonly #store: Store
  readonly #name: string
  #attempts = 0
  readonly acknowledged: string[] = []

  constructor(store: Store, index: number) {
    this.#store = store
    this.#name = `writer${index}`
  }

  /** Resolves after `count` acknowledged writes. */
  async write(count: number): Promise<void> {
    for (let written = 0; written < count; ) {
      if (await this.#attempt()) written++
      else await turn()
    }
  }

  async writeUntil(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) if (!(await this.#attempt())) await turn()
  }

  async #attempt(): Promise<boolean> {
    const slug = `${this.#name}-${++this.#attempts}`
    try {
      await this.#store.write('durable', { site: slug }, async (tx) => {
        await tx.sites.insert(siteRow(slug))
        await tx.notifyChanged(slug)
      })
    } catch (error) {
      if (isUnavailable(error)) return false
      throw error
    }
    this.acknowledged.push(slug)
    return true
  }
}
