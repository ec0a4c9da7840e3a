import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import pg from 'pg'
import { postgresStore } from '../../server/store/postgres/postgres.ts'
import { siteRow } from '../store/rows.ts'
import { openStore } from '../store/test-database.ts'
import { PATIENT_TIMEOUTS } from '../support/engines.ts'
import { waitFor } from '../support/wait-for.ts'
import { requires } from '../tools/part.ts'
import { type ProxiedConnection, TcpProxy } from '../tools/tcp-proxy.ts'
import { isUnavailable, openProxied, recordChanges, whenReconnected } from './proxied-store.ts'

/** A time that expires in a test, and is long enough for a loaded machine to answer. */
const SOON_MS = 1000

describe('the network to PostgreSQL', requires('postgres'), () => {
  test('a connection that went silent fails one read, and is not used again', async () => {
    await using stack = new AsyncDisposableStack()
    const { store, proxy } = await openProxied(stack, { maxConnections: 1, timeouts: { read: SOON_MS } })
    const read = () => store.read.sites.find('a-site')
    await read()
    proxy.abandon()
    await assert.rejects(read(), isUnavailable)
    await read()
  })

  test('the change feed notices a connection that went silent, and misses no change', async () => {
    await using stack = new AsyncDisposableStack()
    const { store, proxy, url } = await openProxied(stack, { timeouts: { poll: SOON_MS } })
    const other = stack.use(await openStore(url))
    const changes = recordChanges(store)
    proxy.abandon()
    await other.write('relaxed', {}, (tx) => tx.notifyChanged('in-the-silence'))
    await changes.waitFor('in-the-silence')
  })

  test('reads that a lock holds up fail, and the server ends them', async () => {
    await using stack = new AsyncDisposableStack()
    const { store, run, url } = await openProxied(stack, { timeouts: { acquire: SOON_MS, read: SOON_MS } })
    const locking = new pg.Client({ connectionString: url })
    await locking.connect()
    stack.defer(() => locking.end())
    await locking.query('begin; lock table sites in access exclusive mode')
    const reads = Array.from({ length: 20 }, () => store.read.sites.find('a-site'))
    const outcomes = await Promise.allSettled(reads)
    assert.ok(outcomes.every((one) => one.status === 'rejected' && isUnavailable(one.reason)))
    const waiting = `select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`
    await waitFor(async () => (await run(waiting)).length === 0)
  })

  test('publishes wait for a connection longer than reads do, and those about an account without one for each other', async () => {
    await using stack = new AsyncDisposableStack()
    const { store, run } = await openProxied(stack, { maxConnections: 1, timeouts: { acquire: SOON_MS } })
    const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const write = (name: string, account: string, until?: Promise<void>) =>
      store.write('durable', { account }, async (tx) => {
        begun.resolve()
        await until
        await tx.sites.insert(siteRow(name))
      })
    const first = write('first', 'ann', held.promise)
    await begun.promise
    const waiting = Array.from({ length: 20 }, (_, number) =>
      write(`site-${number}`, number < 10 ? 'ann' : 'bob'),
    )
    await assert.rejects(store.read.sites.find('first'), isUnavailable)
    const locks = "select from pg_locks where locktype = 'advisory' and not granted"
    assert.deepEqual(await run(locks), [])
    held.resolve()
    await Promise.all([first, ...waiting])
  })

  test('a commit whose answer is lost is reported as unavailable, is not repeated, and reaches all listeners', async () => {
    await using stack = new AsyncDisposableStack()
    const { store, proxy, url } = await openProxied(stack)
    const other = stack.use(await openStore(url))
    const changes = recordChanges(store)
    const sent = holdAnswerTo(proxy, 'commit')
    let runs = 0
    const writing = store.write('durable', { site: 'a-site' }, async (tx) => {
      runs++
      await tx.sites.insert(siteRow('a-site'))
      await tx.notifyChanged('a-site')
    })
    const connection = await sent
    while (!(await other.read.sites.find('a-site')));
    await store.pollChanges()
    connection.cut()
    await assert.rejects(writing, isUnavailable)
    assert.equal(runs, 1)
    assert.deepEqual(changes.names, ['a-site'])
  })

  test('a connection that is lost before the commit leaves nothing', async () => {
    await using stack = new AsyncDisposableStack()
    const { store, proxy } = await openProxied(stack)
    const writing = store.write('durable', {}, async (tx) => {
      await tx.sites.insert(siteRow('a-site'))
      proxy.reset()
      await tx.notifyChanged('a-site')
    })
    await assert.rejects(writing, isUnavailable)
    assert.equal(await whenReconnected(() => store.read.sites.find('a-site')), undefined)
  })

  test('connections that the server ended are replaced, however often', async () => {
    await using stack = new AsyncDisposableStack()
    const { store, run } = await openProxied(stack, { maxConnections: 2, timeouts: { acquire: SOON_MS } })
    // Each connection fails one read at most.
    const read = () => whenReconnected(() => store.read.sites.find('a-site'), 20)
    for (let round = 0; round < 5; round++) {
      await read()
      await run(`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`)
    }
    await read()
  })

  test('of several hosts the primary is found, although another one accepts connections and is silent', async () => {
    await using stack = new AsyncDisposableStack()
    const { url } = await openProxied(stack)
    const silent = stack.use(await TcpProxy.open(1))
    silent.stop()
    const { port } = new URL(url)
    const hosts = url.replace(`127.0.0.1:${port}`, `127.0.0.1:${silent.port},127.0.0.1:${port}`)
    const store = stack.use(await postgresStore({ url: hosts, timeouts: PATIENT_TIMEOUTS }))
    assert.equal(await store.read.sites.find('a-site'), undefined)
  })

  test('a commit that hangs at a primary that went silent ends once another host is the primary, which takes writes then', async () => {
    await using stack = new AsyncDisposableStack()
    const { url } = await openProxied(stack)
    const port = Number(new URL(url).port)
    const [former, next] = [stack.use(await TcpProxy.open(port)), stack.use(await TcpProxy.open(1))]
    const hosts = url.replace(`127.0.0.1:${port}`, `127.0.0.1:${former.port},127.0.0.1:${next.port}`)
    const timeouts = { ...PATIENT_TIMEOUTS, poll: SOON_MS, hang: 1 }
    const store = stack.use(await postgresStore({ url: hosts, pollIntervalMs: 20, timeouts }))
    const sent = holdAnswerTo(former, 'commit')
    const insert = (name: string) => store.write('durable', {}, (tx) => tx.sites.insert(siteRow(name)))
    const hanging = assert.rejects(insert('before'), isUnavailable)
    await sent
    next.upstreamPort = port
    former.stop()
    await hanging
    await insert('after')
  })
})

/** Stops the answers of the first connection that sends a statement; resolves with it. */
function holdAnswerTo(proxy: TcpProxy, statement: string): Promise<ProxiedConnection> {
  const sent = Promise.withResolvers<ProxiedConnection>()
  proxy.onBytes = (direction, bytes, connection) => {
    if (direction !== 'toServer' || !bytes.includes(`${statement}\0`)) return
    proxy.onBytes = undefined
    connection.stop('toClient')
    sent.resolve(connection)
  }
  return sent.promise
}
