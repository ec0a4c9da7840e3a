import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Store } from '../../server/store/store.ts'
import { toFiles } from '../api/content.ts'
import { siteRow } from '../store/rows.ts'
import { sendRequest } from '../support/http-client.ts'
import { startTestService } from '../support/service.ts'
import { waitFor } from '../support/wait-for.ts'
import { requires } from '../tools/part.ts'
import { freePort } from '../tools/port.ts'
import { isUnavailable, recordChanges, whenReconnected } from './proxied-store.ts'
import { ReplicatedPostgres } from './replicated-postgres.ts'

const WRITERS = 3

/** Writes of each writer before and after a failover. */
const WRITES = 2

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

  test('a primary that is killed under load loses nothing that was acknowledged as durable, and a node serves warm sites and publishes again', async (t) => {
    await using stack = new AsyncDisposableStack()
    const url = await cluster.createDatabase()
    const other = stack.use(await cluster.openStore(url))
    const changes = recordChanges(other)
    const port = await freePort()
    const service = stack.use(
      await startTestService({
        DATABASE_URL: url,
        SECRET: 'a secret of all nodes of this test',
        SMTP_URL: 'smtp://127.0.0.1:1',
        PORT: `${port}`,
        BASE_URL: `http://localhost:${port}`,
      }),
    )
    const publish = (content: string) =>
      service.client().publish({ files: toFiles({ 'index.html': content }) })
    const visit = async (site: string) => (await sendRequest(port, { site })).text
    const { slug } = await publish('before')
    assert.equal(await visit(slug), 'before')
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
    const promoted = cluster.failOver()
    assert.equal(await visit(slug), 'before')
    await promoted
    const promotedAt = performance.now()
    load.abort()
    await Promise.all(writing)
    await Promise.all(writers.map((writer) => writer.write(WRITES)))
    t.diagnostic(`all writers write ${Math.round(performance.now() - promotedAt)} ms after the promotion`)
    await whenReconnected(() => other.pollChanges())
    assert.ok(changes.names.includes('everything'))
    assert.equal(await visit((await whenReconnected(() => publish('after'))).slug), 'after')
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
