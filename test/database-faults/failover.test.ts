import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { attempt } from '../../server/lib/attempt.ts'
import { INCIDENTS, Incidents } from '../../server/lib/incidents.ts'
import { makeLog } from '../../server/lib/log.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { HOUR_MS } from '../../server/lib/time.ts'
import type { Store } from '../../server/store/store.ts'
import { toFiles } from '../api/content.ts'
import { siteRow } from '../store/rows.ts'
import { sendRequest } from '../support/http-client.ts'
import { PATIENT } from '../support/patient.ts'
import { startTestService } from '../support/service.ts'
import { startForAllTests } from '../support/started-fixture.ts'
import { waitFor } from '../support/wait-for.ts'
import { requires } from '../tools/part.ts'
import { startSmtp } from '../tools/smtp.ts'
import { nodeSettings } from './node-settings.ts'
import { isUnavailable, recordChanges, whenReconnected } from './proxied-store.ts'
import { ReplicatedPostgres } from './replicated-postgres.ts'

const WRITERS = 3

/** Of a node, besides that of the feed. */
const MAX_CONNECTIONS = 8

/** Writes of each writer before and after a failover. */
const WRITES = 2

describe('PostgreSQL with a synchronous standby', requires('postgres'), () => {
  const cluster = startForAllTests(() => ReplicatedPostgres.start())

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
    assert.equal(await other.read.sites.find('slow'), undefined)
    cluster.replication.resume()
    await slow
    await other.pollChanges()
    assert.deepEqual(changes.names, ['quick', 'slow'])
  })

  for (const durability of ['durable', 'available'] as const)
    test(`a write of one statement that is ${durability} waits for the standby`, async () => {
      await using stack = new AsyncDisposableStack()
      const url = await cluster.createDatabase()
      const store = stack.use(await cluster.openStore(url))
      stack.defer(() => cluster.replication.resume())
      cluster.replication.stop()
      const adding = store.execute(durability, (tx) => tx.sites.insert(siteRow('alone')))
      await cluster.untilCommitWaits(url)
      cluster.replication.resume()
      await adding
    })

  test('old changes are deleted without the standby, so that no connection waits for it', async (t) => {
    await using stack = new AsyncDisposableStack()
    const url = await cluster.createDatabase()
    await (await cluster.openStore(url))[Symbol.asyncDispose]()
    await cluster.run(
      url,
      "insert into changes (name, at) values ('old', clock_timestamp() - interval '1 year')",
    )
    stack.defer(() => cluster.replication.resume())
    cluster.replication.stop()
    stack.use(await cluster.openStore(url))
    const now = performance.now.bind(performance)
    t.mock.method(performance, 'now', () => now() + HOUR_MS)
    const old = async () => (await cluster.run(url, "select from changes where name = 'old'")).length
    const waiting =
      "select from pg_stat_activity where datname = current_database() and wait_event = 'SyncRep'"
    await waitFor(async () => {
      assert.deepEqual(await cluster.run(url, waiting), [])
      return (await old()) === 0
    })
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

  test('an outage of the standby ends publishing and nothing else', requires('smtp'), async () => {
    await using stack = new AsyncDisposableStack()
    const url = await cluster.createDatabase()
    const database = { ...PATIENT.database }
    const mail = stack.use(await startSmtp())
    const settings = { ...(await nodeSettings(url)), SMTP_URL: mail.url }
    const { client, port, service, log } = stack.use(
      await startTestService(settings, Date.now(), { deadlines: { database } }),
    )
    const signIn = async () => {
      await client().requestCode('ann@example.org')
      const [letter] = await mail.letters()
      const code = /^ {4}([A-Z2-9]{4}-[A-Z2-9]{4})\r?$/m.exec(letter!.text)![1]!
      return (await client().verifyCode('ann@example.org', code)).apiKey
    }
    const publish = (key: string | undefined, text: string, site?: string) =>
      client(key).publishContents({ files: [{ path: 'index.html', content: text }] }, site)
    let key = await signIn()
    const { slug } = await publish(key, 'before')
    stack.defer(() => cluster.replication.resume())
    cluster.replication.stop()
    database.hang = 200
    // Nothing says yet that the standby is away.
    key = await signIn()
    const countBackends = async () => {
      const [row] = await cluster.run(
        url,
        "select count(*)::int as count from pg_stat_activity where datname = current_database() and application_name = 'slipway'",
      )
      return row!.count as number
    }
    // More sites than connections, each with locks of its own.
    const attempts = Array.from({ length: 3 * MAX_CONNECTIONS }, (_, number) =>
      assert.rejects(publish(undefined, `site ${number}`), { code: 'UNAVAILABLE' }),
    )
    await Promise.all(attempts)
    await service.incidents.check()
    const logged = () =>
      log.filter(({ incident }) => incident === 'commits-hang').map(({ message }) => message)
    const { began, ended } = INCIDENTS['commits-hang']
    assert.deepEqual(logged(), [began])
    const unanswered = async () => (await service.metrics.collect()).slipway_store_commits_unanswered![0]![2]
    assert.ok((await unanswered()) > 0)
    assert.ok((await countBackends()) <= MAX_CONNECTIONS + 1, `${await countBackends()} backends`)
    await assert.rejects(publish(key, 'during', slug), {
      code: 'UNAVAILABLE',
      message: /does not confirm changes/,
    })
    assert.equal((await client(key).details(slug)).slug, slug)
    assert.equal((await sendRequest(port, { site: slug })).text, 'before')
    assert.equal((await sendRequest(port, { site: 'no-such-site' })).status, 404)
    const again = await signIn()
    assert.equal((await client(again).details(slug)).slug, slug)
    database.hang = PATIENT.database.hang
    cluster.replication.resume()
    await waitFor(async () => (await unanswered()) === 0)
    await service.incidents.check()
    assert.deepEqual(logged(), [began, ended])
    await publish(again, 'after', slug)
    assert.ok((await countBackends()) <= MAX_CONNECTIONS + 1)
  })

  test('a write that has not sent its commit when the standby goes away is undone', async () => {
    await using stack = new AsyncDisposableStack()
    const url = await cluster.createDatabase()
    const log: Record<string, unknown>[] = []
    const write = (line: string) => void log.push(JSON.parse(line))
    const metrics = new Metrics()
    const incidents = new Incidents({ log: makeLog({ level: 'info', text: false, write }), metrics })
    const store = stack.use(await cluster.openStore(url, { timeouts: { hang: 200 }, incidents, metrics }))
    const [started, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const late = store.write('durable', {}, async (tx) => {
      await tx.sites.insert(siteRow('late'))
      started.resolve()
      await released.promise
    })
    await started.promise
    stack.defer(() => cluster.replication.resume())
    cluster.replication.stop()
    const hanging = store.write('durable', {}, (tx) => tx.sites.insert(siteRow('hanging')))
    await cluster.untilCommitWaits(url)
    await waitFor(async () => {
      await incidents.check()
      return log.some(({ incident }) => incident === 'commits-hang')
    })
    released.resolve()
    await assert.rejects(late, { code: 'UNAVAILABLE', message: /does not confirm changes/ })
    cluster.replication.resume()
    await hanging
    assert.ok(await store.read.sites.find('hanging'))
    assert.equal(await store.read.sites.find('late'), undefined)
  })

  test('a crash of one process of the server makes all nodes revalidate everything', async () => {
    await using stack = new AsyncDisposableStack()
    const url = await cluster.createDatabase()
    const stores = [stack.use(await cluster.openStore(url)), stack.use(await cluster.openStore(url))]
    const changes = stores.map(recordChanges)
    const backends = await cluster.run(
      url,
      `select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
      and backend_type = 'client backend'`,
    )
    // A connection of an earlier statement may have ended since.
    const isKilled = ({ pid }: Record<string, unknown>) =>
      attempt(() => process.kill(Number(pid), 'SIGKILL')) === true
    assert.ok(backends.some(isKilled))
    await waitFor(() => cluster.primary.log.some((line) => line.includes('reinitializing')))
    for (const store of stores) await whenReconnected(() => store.pollChanges())
    await stores[0]!.write('relaxed', {}, (tx) => tx.notifyChanged('later'))
    for (const store of stores) await store.pollChanges()
    for (const { names } of changes) assert.deepEqual(new Set(names), new Set(['everything', 'later']))
  })

  test('a primary that is killed under load loses nothing that was acknowledged as durable, and a node serves warm sites and publishes again', async () => {
    await using stack = new AsyncDisposableStack()
    const url = await cluster.createDatabase()
    const other = stack.use(await cluster.openStore(url))
    const changes = recordChanges(other)
    const service = stack.use(await startTestService(await nodeSettings(url)))
    const publish = (content: string) =>
      service.client().publish({ files: toFiles({ 'index.html': content }) })
    const visit = async (site: string) => (await sendRequest(service.port, { site })).text
    const { slug } = await publish('before')
    assert.equal(await visit(slug), 'before')
    const acknowledged: string[] = []
    let attempts = 0
    const write = async (store: Store, isDone: (written: number) => boolean) => {
      for (let written = 0; !isDone(written); ) {
        const name = `site-${++attempts}`
        try {
          await store.write('durable', { site: name }, async (tx) => {
            await tx.sites.insert(siteRow(name))
            await tx.notifyChanged(name)
          })
          acknowledged.push(name)
          written++
        } catch (error) {
          if (!isUnavailable(error)) throw error
          await turn()
        }
      }
    }
    const stores: Store[] = []
    while (stores.length < WRITERS) stores.push(stack.use(await cluster.openStore(url)))
    const writeSome = () => Promise.all(stores.map((store) => write(store, (written) => written === WRITES)))
    await writeSome()
    let isPromoted = false
    const writing = stores.map((store) => write(store, () => isPromoted))
    cluster.replication.stop()
    // The control: what is not replicated is lost.
    await other.write('relaxed', {}, (tx) => tx.sites.insert(siteRow('relaxed')))
    changes.names.length = 0
    const promoted = cluster.failOver()
    assert.equal(await visit(slug), 'before')
    await promoted
    isPromoted = true
    await Promise.all(writing)
    await writeSome()
    await whenReconnected(() => other.pollChanges())
    assert.ok(changes.names.includes('everything'))
    assert.equal(await visit((await whenReconnected(() => publish('after'))).slug), 'after')
    const found = await Promise.all(acknowledged.map((slug) => other.read.sites.find(slug)))
    const missing = acknowledged.filter((_, index) => !found[index])
    assert.deepEqual(missing, [])
    assert.equal(await other.read.sites.find('relaxed'), undefined)
  })
})
