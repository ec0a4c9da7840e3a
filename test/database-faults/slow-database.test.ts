import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { DEADLINES } from '../../server/lib/deadlines.ts'
import { HOUR_MS } from '../../server/lib/time.ts'
import { AnswerWatch } from '../../server/store/postgres/answer-watch.ts'
import { lockKey } from '../../server/store/postgres/writer.ts'
import { accountRow, siteRow } from '../store/rows.ts'
import { sendRequest } from '../support/http-client.ts'
import { PATIENT } from '../support/patient.ts'
import { pluck } from '../support/pluck.ts'
import { startTestService } from '../support/service.ts'
import { waitFor } from '../support/wait-for.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { TcpProxy } from '../tools/tcp-proxy.ts'
import { nodeSettings } from './node-settings.ts'
import { borrowProxied, openProxied } from './proxied-store.ts'

/** No answer arrives before the end of the test. */
const DELAY_MS = HOUR_MS

/** After which a commit counts as one that hangs. */
const HANG_MS = 100

/** Longer than a busy machine does not answer. */
const SILENCE_MS = 2000

/** Of a read: shorter than all other deadlines, which do not end in a test either. */
const READ_MS = HOUR_MS / 2

const MAX_LOCK_WAITS = 2

/** Those of the pool, that of the change feed, and one for queries of the test. */
const MAX_SESSIONS = 10

test(
  'while the database answers far too late, warm sites are served, publishing is refused, and no connection waits for the answers',
  requires('postgres'),
  async () => {
    await using stack = new AsyncDisposableStack()
    const server = await sharedPostgres()
    const database = stack.use(await server.borrowDatabase())
    const proxy = stack.use(await TcpProxy.open(server.port))
    const { pathname } = new URL(database.url)
    const DATABASE_URL = server.url(pathname.slice(1), proxy.port)
    const settings = await nodeSettings(DATABASE_URL)
    const { port } = stack.use(await startTestService(settings, Date.now(), { deadlines: DEADLINES }))
    const publish = (text: string) =>
      sendRequest(port, {
        ...{ method: 'PUT', path: '/page.html', body: Buffer.from(text) },
        headers: { 'content-type': 'text/html' },
      })
    const show = async (site: string) => (await sendRequest(port, { site, path: '/' })).text
    /** The node may not have connections that answer in time yet, to publish or to show a page first. Returns the slug. */
    const publishUntilDone = async (text: string) => {
      let slug: string | undefined
      await waitFor(async () => {
        const response = await publish(text)
        slug = /\/\/([^.]+)\./.exec(response.text)?.[1]
        return response.status === 201 && (await show(slug!)) === text
      })
      return slug!
    }
    const publishPages = async (prefix: string) => {
      const texts = Array.from({ length: 12 }, (_, number) => `<p>${prefix} ${number}`)
      return Promise.all(texts.map(async (text) => ({ slug: await publishUntilDone(text), text })))
    }
    const visit = async (pages: Awaited<ReturnType<typeof publishPages>>) => {
      assert.deepEqual(await Promise.all(pages.map(({ slug }) => show(slug))), pluck(pages, 'text'))
    }
    const pages = await publishPages('before')
    await visit(pages)

    const client = new pg.Client({ connectionString: DATABASE_URL })
    client.on('error', () => undefined)
    await client.connect()
    proxy.delayMs.toClient = DELAY_MS
    const late = client.query('select').then(() => assert.fail('the database has answered'))
    late.catch(() => undefined)
    stack.defer(() => proxy.cut())
    const refused = await Promise.race([Promise.all([publish('1'), publish('2')]), late])
    assert.deepEqual(new Set(refused.map(({ status }) => status)), new Set([503]))
    await Promise.race([visit(pages), late])

    proxy.delayMs.toClient = 0
    const recovery = async () => visit(await publishPages('after'))
    await Promise.race([recovery(), late])
    const { rows } = await database.run(
      `select pid, state, query from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
          and backend_type = 'client backend'`,
    )
    assert.ok(rows.length <= MAX_SESSIONS, JSON.stringify(rows))
  },
)

test(
  'once the database answers nothing, reads in progress and all requests that come are refused, and a publish in progress continues with the next answer',
  requires('postgres'),
  async () => {
    await using stack = new AsyncDisposableStack()
    const { proxied, proxy, run } = await borrowProxied(stack)
    // Nothing else has a deadline that ends before the test.
    const database = {
      ...{ ...PATIENT.database, acquire: READ_MS, read: READ_MS },
      ...{ poll: SILENCE_MS, silence: SILENCE_MS },
    }
    const settings = await nodeSettings(proxied)
    const { client, port } = stack.use(
      await startTestService(settings, Date.now(), { deadlines: { database } }),
    )
    const publish = (content: string, site?: string) =>
      client().publishContents({ files: [{ path: 'index.html', content }] }, site)
    const { slug, claimToken } = await publish('before')
    assert.equal((await sendRequest(port, { site: slug })).text, 'before')
    const holder = new pg.Client(proxied.replace(`:${proxy.port}`, `:${proxy.upstreamPort}`))
    await holder.connect()
    stack.defer(() => holder.end())
    await holder.query('begin; lock table versions in exclusive mode')
    const begun = publish('begun')
    const untilWaiting = waitFor(async () => {
      const { rows } = await run(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rows.length > 0
    })
    await Promise.race([untilWaiting, begun])

    proxy.stop()
    stack.defer(() => proxy.cut())
    const path = `/api/v1/publish/${slug}`
    const headers = { 'Content-Type': 'application/json' }
    const body = JSON.stringify({ claimToken, files: [{ path: 'index.html', content: 'during' }] })
    const send = async (method: string) =>
      (await sendRequest(port, { method, path, ...(method !== 'GET' && { headers, body }) })).status
    assert.equal(await send('GET'), 503)
    for (const method of ['PUT', 'PATCH', 'DELETE', 'GET']) assert.equal(await send(method), 503, method)
    assert.equal((await sendRequest(port, { site: slug })).text, 'before')

    await holder.query('rollback')
    proxy.resume()
    const { slug: later } = await begun
    assert.equal((await sendRequest(port, { site: later })).text, 'begun')
    await waitFor(async () => (await send('PUT')) === 200)
    assert.equal((await sendRequest(port, { site: slug })).text, 'during')
  },
)

test('a row that another program locks stops only the writes of that row', requires('postgres'), async () => {
  await using stack = new AsyncDisposableStack()
  const { store, url, run } = await openProxied(stack, { timeouts: { hang: HANG_MS } })
  for (const name of ['locked', 'free'])
    await store.write('relaxed', {}, (tx) => tx.sites.insert(siteRow(name)))
  const other = new pg.Client({ connectionString: url })
  await other.connect()
  stack.defer(() => other.end())
  await other.query("begin; update sites set title = 'other' where slug = 'locked'")
  const set = (slug: string) =>
    store.execute('durable', (queries) => queries.sites.update(slug, { title: 'own' }))
  const waiting = set('locked')
  await waitFor(async () => {
    const [row] = await run(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
          and clock_timestamp() - query_start > interval '${5 * HANG_MS} ms'`,
    )
    return row !== undefined
  })
  await set('free')
  await other.query('commit')
  await waiting
  assert.equal((await store.read.sites.find('locked'))!.title, 'own')
})

test(
  'writes that wait for sites that another node changes leave connections for everything else',
  requires('postgres'),
  async () => {
    await using stack = new AsyncDisposableStack()
    const { store, url, run } = await openProxied(stack)
    const sites = Array.from({ length: 12 }, (_, number) => `site-${number}`)
    const set = (slug: string) =>
      store.write('durable', { site: slug }, (tx) => tx.sites.update(slug, { title: 'own' }))
    for (const slug of [...sites, 'free'])
      await store.write('relaxed', {}, (tx) => tx.sites.insert(siteRow(slug)))
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    stack.defer(() => other.end())
    const locks = sites.map((slug) => `select pg_advisory_xact_lock(${lockKey('site', slug)})`)
    await other.query(['begin', ...locks].join(';'))
    const waiting = Promise.all(sites.map(set))
    const findWaiting = () =>
      run(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
          and clock_timestamp() - query_start > interval '${HANG_MS} ms'`)
    await waitFor(async () => (await findWaiting()).length === MAX_LOCK_WAITS)
    await set('free')
    assert.equal((await store.read.sites.find('free'))!.title, 'own')
    assert.equal(await store.execute('unread', ({ counters }) => counters.add('charge', 0)), 1)
    await store.write('available', { account: 'ann' }, (tx) => tx.rows.insert('accounts', accountRow('ann')))
    assert.equal((await findWaiting()).length, MAX_LOCK_WAITS)
    await other.query('commit')
    await waiting
    for (const slug of sites) assert.equal((await store.read.sites.find(slug))!.title, 'own')
  },
)

test('a database that hung counts as answering again after one answer, however close to the deadline of its read', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  using watch = new AnswerWatch({ read: 800, silence: 800 })
  const given: string[] = []
  watch.expect(800, () => given.push('first'))
  t.mock.timers.tick(1000)
  assert.deepEqual([watch.isHanging, given], [true, ['first']])
  watch.expect(700, () => given.push('poll'))
  t.mock.timers.tick(600)
  assert.deepEqual([watch.isHanging, given], [true, ['first']])
  watch.noteAnswer()
  assert.equal(watch.isHanging, false)
})
