import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { HOUR_MS } from '../../server/lib/time.ts'
import { parseConnectionUrl } from '../../server/store/postgres/connection-url.ts'
import { PrimaryPool } from '../../server/store/postgres/pool.ts'
import { PATIENT_TIMEOUTS } from '../support/engines.ts'
import { HeldRequest, type RequestSpec, sendRequest } from '../support/http-client.ts'
import { insertAccount } from '../support/insert-account.ts'
import { PATIENT } from '../support/patient.ts'
import { startTestService } from '../support/service.ts'
import { waitFor } from '../support/wait-for.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { nodeSettings } from './node-settings.ts'
import { isUnavailable } from './proxied-store.ts'

const MAX_CONNECTIONS = 8
const MAX_DURABLE = 4
const DEADLINE_MS = HOUR_MS
const USE_MS = DEADLINE_MS / 5

/** So many that the mean is nearly the time of each. */
const USES = 100

/** Behind whom the wait is as long as the deadline. */
const MAX_WAITING = (DEADLINE_MS / USE_MS) * MAX_DURABLE

test(
  'a publish that would wait for a connection beyond its deadline is refused immediately, until uses are short again',
  requires('postgres'),
  async () => {
    await using stack = new AsyncDisposableStack()
    const { url } = stack.use(await (await sharedPostgres()).borrowDatabase())
    let now = 0
    const pool = stack.use(
      new PrimaryPool({
        cluster: parseConnectionUrl(url),
        maxConnections: MAX_CONNECTIONS,
        timeouts: { ...PATIENT_TIMEOUTS, queue: DEADLINE_MS },
        clock: () => now,
      }),
    )
    const useFor = async (milliseconds: number) => {
      for (let count = 0; count < USES; count++)
        await pool.use(async () => {
          now += milliseconds
        }, 'durable')
    }
    /** Fills the connections of durable writes, and the queue behind them; returns how many were not refused. */
    const fill = async () => {
      const released = Promise.withResolvers<void>()
      const begun = Array.from({ length: MAX_DURABLE }, () => Promise.withResolvers<void>())
      const holders = begun.map(({ resolve }) =>
        pool.use(async () => {
          resolve()
          await released.promise
        }, 'durable'),
      )
      await Promise.all(begun.map(({ promise }) => promise))
      let refused = 0
      const waiting: Promise<unknown>[] = []
      for (let count = 0; count < 2 * MAX_WAITING; count++) {
        const use = pool.use(async () => {}, 'durable')
        waiting.push(
          use.catch((error: unknown) => {
            assert.ok(isUnavailable(error))
            assert.ok((error as { retryAfterSeconds?: number }).retryAfterSeconds)
            refused++
          }),
        )
      }
      // What is refused immediately is refused before a read is done.
      await pool.use((connection) => connection.query({ text: 'select' }, PATIENT_TIMEOUTS.read))
      const refusedEarly = refused
      released.resolve()
      await Promise.all([...holders, ...waiting])
      assert.equal(refused, refusedEarly)
      return waiting.length - refused
    }
    await useFor(USE_MS)
    const admitted = await fill()
    assert.ok(Math.abs(admitted - MAX_WAITING) <= 1, `${admitted} waited`)
    await useFor(0)
    assert.equal(await fill(), 2 * MAX_WAITING)
  },
)

/** Publishes of one address that run at the same time. */
const PUBLISHES = 8

test(
  'while publishes wait for the database too long, new ones are refused before they use it; those that wait leave with their clients, or succeed, also when the service stops',
  requires('postgres'),
  async () => {
    await using stack = new AsyncDisposableStack()
    const database = stack.use(await (await sharedPostgres()).borrowDatabase())
    const settings = { ...(await nodeSettings(database.url)), DRAIN_SECONDS: '3600' }
    const { baseUrl, client, clock, service, log } = stack.use(await startTestService(settings))
    const holder = new pg.Client(database.url)
    await holder.connect()
    stack.defer(() => holder.end())
    await holder.query('begin; lock table versions in exclusive mode')
    const files = [{ path: 'index.html', content: 'hello' }]
    const untilWaiting = (count: number) =>
      waitFor(() => service.metrics.read().slipway_publishes_waiting === count)
    const admitted = Array.from({ length: PUBLISHES + 1 }, () => client().publishContents({ files }))
    await untilWaiting(1)
    const leaving = new AbortController()
    const left = fetch(`${baseUrl}/api/v1/publish`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      ...{ body: JSON.stringify({ files }), signal: leaving.signal },
    })
    await untilWaiting(2)
    leaving.abort()
    await assert.rejects(left, { name: 'AbortError' })
    await untilWaiting(1)
    clock.now += PATIENT.database.queue + 1
    // Without a lookup of its key.
    const isRefused = client('no-such-key')
      .publishContents({ files })
      .then(
        () => false,
        (error) => error.code === 'UNAVAILABLE' && error.retryAfterSeconds > 0,
      )
    assert.ok(await Promise.race([isRefused, untilWaiting(2).then(() => false)]))
    await service.incidents.check()
    assert.ok(log.some(({ incident }) => incident === 'database-busy'))
    void service[Symbol.asyncDispose]()
    await holder.query('rollback')
    await Promise.all(admitted)
  },
)

/** So long that a busy machine sends eight requests within a quarter of it. */
const ACQUIRE_MS = 2400

test(
  'a publish, its finalize and a message of a program wait for their key, their charge and their reads longer than a visit, and one whose body arrives while reads wait is refused',
  requires('postgres'),
  async () => {
    await using stack = new AsyncDisposableStack()
    const database = stack.use(await (await sharedPostgres()).borrowDatabase())
    const deadlines = { database: { ...PATIENT.database, acquire: ACQUIRE_MS } }
    const settings = { ...(await nodeSettings(database.url)), TRUSTED_PROXIES: '1' }
    const running = stack.use(await startTestService(settings, Date.now(), { deadlines }))
    const { port, service, client } = running
    const files = [{ path: 'index.html', content: 'hello' }]
    const { slug, claimToken } = await client().publishContents({ files })
    const key = await insertAccount(database.url, 'ann')
    const prepare = async () => {
      const created = await client().create({
        files: [{ path: 'index.html', size: 5, contentType: 'text/html' }],
      })
      const { pathname, search } = new URL(created.upload.uploads[0]!.url)
      const headers = { 'Content-Type': 'text/html' }
      return { created, target: { method: 'PUT', path: pathname + search, headers, body: 'hello' } }
    }
    const [{ target }, { created, target: uploaded }] = [await prepare(), await prepare()]
    assert.equal((await sendRequest(port, uploaded)).status, 200)
    const holder = new pg.Client(database.url)
    await holder.connect()
    stack.defer(() => holder.end())
    const countCharged = async () => {
      const { rows } = await holder.query('select sum(requests)::int as requests from counters')
      return rows[0].requests as number
    }
    const isWaiting = (count: number) => Number(service.metrics.read().slipway_store_pool_waiting) >= count
    const untilWaiting = (count: number) => waitFor(() => isWaiting(count))
    const json = { 'Content-Type': 'application/json' }
    const withKey = { ...json, Authorization: `Bearer ${key}` }
    /** A publish whose head has been admitted. */
    const begin = async (request: RequestSpec, content: object) => {
      const charged = await countCharged()
      const body = Buffer.from(JSON.stringify(content))
      const held = stack.use(await HeldRequest.begin(port, { ...request, body }))
      await waitFor(async () => (await countCharged()) > charged)
      return held
    }
    const update = { method: 'PUT', path: `/api/v1/publish/${slug}`, headers: json }
    const post = { method: 'POST', path: '/api/v1/publish', body: JSON.stringify({ files }) }
    const first = await begin(update, { claimToken, files })
    const second = await begin(update, { claimToken, files })
    // What it reads after its key and its charge are the sites of its name.
    const named = await begin({ ...post, headers: withKey }, { name: 'songs', files })
    await holder.query('begin; lock table sites in access exclusive mode')
    const visit = async (site: string) => (await sendRequest(port, { site })).status
    const blocked = Promise.all(
      Array.from({ length: MAX_CONNECTIONS }, (_, number) => visit(`no-such-site-${number}`)),
    )
    // What fails first is reported, not the requests that it ends.
    blocked.catch(() => undefined)
    await waitFor(
      () => service.metrics.read()['slipway_store_pool_connections{state="used"}'] === MAX_CONNECTIONS,
    )
    const versionId = created.upload.versionId
    const finalize = {
      // An address whose requests are not cached.
      headers: { ...json, 'X-Forwarded-For': '192.0.2.1' },
      ...{ method: 'POST', path: `/api/v1/publish/${created.slug}/finalize` },
      body: JSON.stringify({ versionId, claimToken: created.claimToken }),
    }
    const message = {
      ...{ method: 'POST', path: '/mcp', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }) },
      headers: { ...json, Accept: 'application/json, text/event-stream' },
    }
    const withToken = { ...message, headers: { ...message.headers, Authorization: 'Bearer no-such-token' } }
    const requests = [target, { ...post, headers: withKey }, { ...post, headers: json }]
    const sent = [...requests, finalize, message, withToken].map((one) => sendRequest(port, one))
    const admitted = Promise.all([first.finish(), named.finish(), ...sent])
    admitted.catch(() => undefined)
    await untilWaiting(8)
    assert.equal(await visit('no-such-site'), 503)
    const isRefused = second.finish().then(
      ({ status }) => status === 503,
      () => false,
    )
    /** Reads of jobs may wait as well; these are refused before a later visit is. */
    const untilAnotherWaits = async () => {
      do {
        await untilWaiting(9)
        await visit('no-such-site')
      } while (!isWaiting(9))
      return false
    }
    assert.ok(await Promise.race([isRefused, untilAnotherWaits().catch(() => false)]))
    await holder.query('rollback')
    assert.deepEqual(
      (await admitted).map(({ status }) => status),
      [200, 201, 200, 201, 201, 200, 200, 401],
    )
    await blocked
  },
)

test(
  'reads that wait for the first connections of a node refuse no publish, unless these take too long',
  requires('postgres'),
  async () => {
    await using stack = new AsyncDisposableStack()
    const { url } = stack.use(await (await sharedPostgres()).borrowDatabase())
    let now = 0
    const timeouts = { ...PATIENT_TIMEOUTS, acquire: 60_000 }
    const cluster = parseConnectionUrl(url)
    const pool = stack.use(new PrimaryPool({ cluster, maxConnections: 2, timeouts, clock: () => now }))
    const read = pool.use(async () => 'served')
    now = 60_000
    assert.equal(pool.readWaitMs(), 0)
    now++
    assert.equal(pool.readWaitMs(), now)
    assert.equal(await read, 'served')
  },
)
