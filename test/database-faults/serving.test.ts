import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MINUTE_MS } from '../../server/lib/time.ts'
import { postgresStore } from '../../server/store/postgres/postgres.ts'
import type { Store } from '../../server/store/store.ts'
import { EdgeFixture } from '../edge/fixture.ts'
import { openStore } from '../store/test-database.ts'
import { PATIENT_TIMEOUTS } from '../support/engines.ts'
import { waitFor } from '../support/wait-for.ts'
import { requires } from '../tools/part.ts'
import { freePort } from '../tools/port.ts'
import { borrowProxied } from './proxied-store.ts'

/** More than are looked up at a time. */
const SITES = 34

describe('visitors, while PostgreSQL cannot be reached', requires('postgres'), () => {
  test('receive every cached site, and others later; nothing is read again but what changed', async () => {
    await using stack = new AsyncDisposableStack()
    const { edge, other, network } = await startNode(stack)
    const hosts = await publishSites(edge)
    const visit = () => Promise.all(hosts.map((host) => edge.request(host, '/a.txt')))
    const statuses = async () => new Set((await visit()).map(({ status }) => status))
    assert.deepEqual(await statuses(), new Set([200]))
    const cold = await edge.publish({ 'a.txt': 'cold' })
    const changed = hosts[5]!

    // The network drops every packet: for a minute nothing was notified, and no lookup ends.
    network.stop()
    edge.store.silenceMs = () => MINUTE_MS
    edge.clock.now += MINUTE_MS
    edge.store.reads = 0
    assert.deepEqual(await statuses(), new Set([200]))
    assert.ok(edge.store.pending > 0, 'no visitor waited for the end of a lookup')
    assert.ok(edge.store.reads <= 32, `${edge.store.reads} lookups`)
    assert.equal(edge.store.pending, edge.store.reads)

    // The server is away: connections are refused.
    await network.refuse()
    await Promise.all([edge.get(cold, '/a.txt'), visit()])
    edge.store.reads = 0
    assert.deepEqual(await statuses(), new Set([200]))
    assert.equal((await edge.get(cold, '/a.txt')).status, 503)
    assert.equal(edge.store.reads, 0, 'the circuit breaker is open')
    await assert.rejects(
      edge.store.watched.write('durable', {}, (tx) => tx.sites.update(cold, { title: 'x' })),
      { code: 'UNAVAILABLE' },
    )

    // It is back, after another node has changed one site.
    await other.write('durable', {}, async (tx) => {
      await tx.sites.update(changed.split('.')[0]!, { passwordHash: 'x' })
      await tx.notifyChanged(changed.split('.')[0]!)
    })
    await network.restore(edge.store.real)
    edge.store.silenceMs = () => 0
    edge.clock.now += 1000
    edge.store.reads = 0
    for (let round = 0; round < 10; round++) await visit()
    assert.equal((await edge.request(changed, '/a.txt')).status, 401)
    const ofOneSite = 4
    assert.ok(edge.store.reads <= ofOneSite, `${edge.store.reads} reads`)
    assert.equal((await edge.get(cold, '/a.txt')).status, 200)
  })
})

/** Sites, and a preview and a domain of the first one; all of them are cached. Returns their hosts. */
async function publishSites(edge: EdgeFixture): Promise<string[]> {
  const slugs: string[] = []
  for (let number = 0; number < SITES; number++) slugs.push(await edge.publish({ 'a.txt': `${number}` }))
  const [first] = slugs
  const draft = await edge.createVersion(first!, { 'a.txt': 'draft' }, { live: false })
  await edge.addDomain('fault.example.org', slugs[1]!)
  return [...slugs, `${draft}--${first}`].map((label) => edge.host(label)).concat('fault.example.org')
}

/** An edge whose connections to PostgreSQL pass a proxy, and another node. */
async function startNode(stack: AsyncDisposableStack) {
  const { url, proxy, proxied, serverPort } = await borrowProxied(stack)
  const openProxied = () => postgresStore({ url: proxied, pollIntervalMs: 20, timeouts: PATIENT_TIMEOUTS })
  const edge = stack.use(await EdgeFixture.start({ openStore: openProxied }))
  const other = stack.use(await openStore(url))
  const closedPort = await freePort()
  const network = {
    stop: () => proxy.stop(),
    async refuse() {
      proxy.upstreamPort = closedPort
      proxy.resume()
      proxy.cut()
    },
    /** Resolves when reads succeed and all changes so far were notified. */
    async restore(store: Store) {
      proxy.upstreamPort = serverPort
      await waitFor(() => succeeds(store.check()))
      await waitFor(() => succeeds(store.pollChanges()))
    },
  }
  // Requests that nothing answers would delay the end of the store.
  stack.defer(() => network.refuse())
  return { edge, other, network }
}

function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}
