import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AuditPage } from '../../protocol/api/admin/audit.schema.ts'
import type {
  AdminAccount,
  AdminCertificates,
  AdminDomain,
  AdminNodes,
  AdminSite,
  AdminSweeps,
} from '../../protocol/api/admin/lists.schema.ts'
import type { Activity, Overview } from '../../protocol/api/admin/overview.schema.ts'
import type { AdminPage } from '../../protocol/api/admin/page.schema.ts'
import { OPERATIONS } from '../../protocol/api/operations.schema.ts'
import { type OperationId, PATHS } from '../../protocol/api/paths.ts'
import { FULL_GRANT } from '../../server/accounts/authorization.ts'
import { SweepRunRecorder } from '../../server/jobs/scheduler.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { MINUTE_MS } from '../../server/lib/time.ts'
import { ActivityRecorder } from '../../server/operations/administration/activity.ts'
import type { Store } from '../../server/store/store.ts'
import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import { BACKUP_RUN } from '../../server/store/tables/jobs.ts'
import { certificateRow } from '../store/rows.ts'
import { pluck } from '../support/pluck.ts'
import { silentLog } from '../support/silent-log.ts'
import { administrator } from './administrator.ts'
import { DAY_MS, expectFailure, HOUR_MS, startApi } from './api.ts'
import { assertInvalid } from './api-response.ts'
import { browser } from './browser.ts'

const api = await startApi()

const setMark = async (email: string, isAdministrator: boolean) =>
  (await api.operator()).administrators.set(COMMAND_LINE, email, isAdministrator)
const findId = async (email: string) => (await (await api.operator()).store.read.accounts.byEmail(email))!.id

describe('the routes for administrators', () => {
  // The responses to other callers are in test/calls.ts.
  test('are not in the responses to other methods', async () => {
    for (const path of ['/api/admin/banner', '/api/admin/accounts/x/plan'])
      for (const method of ['PROPFIND', 'OPTIONS', 'HEAD']) {
        const [there, elsewhere] = [
          await api.request(method, path),
          await api.request(method, '/api/admin/nothing'),
        ]
        assert.deepEqual([there.status, there.headers.allow], [elsewhere.status, undefined], method)
      }
  })

  test('open with a session and a key of scope admin, and close when the mark is removed', async () => {
    const { email, session, key } = await administrator(api)
    const statuses = () =>
      Promise.all(
        [{ headers: session }, { key }].map(async (given) => {
          return (await api.request('GET', '/api/admin/audit', given)).status
        }),
      )
    assert.deepEqual(await statuses(), [200, 200])
    await administrator(api)
    await setMark(email, false)
    assert.deepEqual(await statuses(), [404, 401])
    await setMark(email, true)
    assert.deepEqual(await statuses(), [200, 401])
  })

  test('change nothing for a session of more than 12 hours, until its user signs in again', async () => {
    const { email, session } = await administrator(api)
    const change = (headers = session) =>
      api.request('PUT', '/api/admin/banner', { headers, json: { text: 'Maintenance' } })
    api.pass(12 * HOUR_MS - 1)
    assert.equal((await change()).status, 200)
    api.pass(1)
    assert.equal((await change()).json.code, 'SIGN_IN_AGAIN')
    assert.equal((await change((await browser(api, { email })).headers)).status, 200)
  })
})

describe('a key of scope admin', () => {
  test('is created by an administrator with a recent session or such a key only', async () => {
    const { email, session, key } = await administrator(api)
    let number = 0
    const create = (given: object, more: object = {}) =>
      api.request('POST', '/api/v1/me/keys', {
        ...given,
        json: { name: `key ${++number}`, scope: 'admin', ...more },
      })
    assert.equal((await create({ key })).status, 201)
    const stranger = await api.account()
    assertInvalid(await create({ key: stranger.key }), 'scope')
    const { apiKey: manager } = await api.client(key).createKey({ name: 'manager', scope: 'manage' })
    assert.equal((await create({ key: manager })).json.code, 'INSUFFICIENT_SCOPE')
    const { slug } = await api.publish(api.client(key), { 'index.html': 'x' })
    assertInvalid(await create({ key }, { sites: [slug] }), 'sites')
    assert.equal((await create({ headers: session })).status, 201)
    api.pass(12 * HOUR_MS)
    assert.equal((await create({ headers: session })).json.code, 'SIGN_IN_AGAIN')
    const others = (await api.client(key).keys()).keys.filter(({ scope }) => scope !== 'admin')
    assert.deepEqual(pluck(others, 'name'), ['manager'], email)
  })

  test('is not created by a request that was in progress when the mark was removed', async () => {
    const { email } = await administrator(api)
    const { namedKeys, store } = await api.operator()
    const account = await store.read.accounts.byEmail(email)
    const grant = { ...FULL_GRANT, scope: 'admin' } as const
    const caller = { account, grant, address: '192.0.2.1', signedInWith: 'key' } as const
    await setMark(email, false)
    const late = namedKeys.create(caller, { name: 'late', scope: 'admin' })
    await assert.rejects(late, { code: 'VALIDATION_ERROR' })
  })
})

test('the last administrator stays one until the command line removes the mark or the account', async () => {
  const { store, removals } = await api.operator()
  for (const { email } of await store.read.accounts.administrators()) await setMark(email, false)
  const { email, key } = await administrator(api)
  const id = await findId(email)
  const other = await api.account()
  const otherId = await findId(other.email)
  const set = (accountId: string, isAdministrator: boolean) =>
    api.request('PUT', `/api/admin/accounts/${accountId}/administrator`, {
      key,
      json: { administrator: isAdministrator },
    })
  assert.equal((await set(id, false)).json.code, 'LAST_ADMINISTRATOR')
  await expectFailure(api.client(key).deleteAccount(email), 'LAST_ADMINISTRATOR')
  assert.equal((await set(otherId, true)).status, 200)
  assert.equal((await other.client.me()).administrator, true)
  assert.equal((await set(otherId, false)).status, 200)
  assert.equal((await set(id, false)).status, 409)
  const json = { reason: 'leaves' }
  const removal = await api.request('DELETE', `/api/admin/accounts/${id}`, { key, json })
  assert.equal(removal.json.code, 'LAST_ADMINISTRATOR')
  await setMark(email, false)
  assert.deepEqual(await store.read.accounts.administrators(), [])
  await setMark(email, true)
  await removals.deleteAccount(COMMAND_LINE, email, json.reason)
  assert.deepEqual(await store.read.accounts.administrators(), [])
})

describe('the audit log', () => {
  test('says who changed what, from which network, newest first and by pages', async () => {
    const { email, key } = await administrator(api)
    const { email: other } = await api.account()
    const id = await findId(other)
    for (const isAdministrator of [true, false, true, false]) {
      api.pass()
      const json = { administrator: isAdministrator }
      await api.request('PUT', `/api/admin/accounts/${id}/administrator`, { key, json })
    }
    const list = async (query: string) =>
      (await api.request('GET', `/api/admin/audit?${query}`, { key })).json as AuditPage
    const entry = { actor: email, network: '127.0.0.0/24', target: other }
    const first = await list(`limit=2&target=${encodeURIComponent(other)}`)
    assert.deepEqual(
      first.rows.map(({ id: _, at, ...rest }) => rest),
      [
        { ...entry, action: 'administrator.remove' },
        { ...entry, action: 'administrator.add' },
      ],
    )
    const second = await list(`limit=2&target=${encodeURIComponent(other)}&cursor=${first.nextCursor}`)
    assert.deepEqual([second.rows.length, second.nextCursor], [2, null])
    const [marked] = (await list(`target=${encodeURIComponent(email)}`)).rows
    assert.deepEqual([marked!.actor, marked!.network], ['command line', null])
    for (const cursor of ['x', 'WzEsMl0', 'WyIiLCIiXQ'])
      assertInvalid(await api.request('GET', `/api/admin/audit?cursor=${cursor}`, { key }), 'cursor')
  })

  test('keeps entries for 400 days', async () => {
    const { email, key } = await administrator(api)
    const count = async () =>
      (await api.request('GET', `/api/admin/audit?target=${email}`, { key })).json.rows.length
    api.pass(400 * DAY_MS)
    await api.sweep('audit-log')
    assert.equal(await count(), 1)
    api.pass(1)
    assert.ok((await api.sweep('audit-log')) > 0)
    assert.deepEqual([await count(), await api.sweep('audit-log')], [0, 0])
  })
})

describe('the lists of administrators', () => {
  /** The lists whose query has a parameter, by the last segments of their paths. */
  const listsWith = (parameter: 'q' | 'sort' | 'cursor') =>
    Object.entries(OPERATIONS).flatMap(([id, operation]) => {
      const isList = operation.access === 'admin' && 'query' in operation
      if (!isList || !(parameter in (operation.query.properties as object))) return []
      return [PATHS[id as OperationId].replace('GET /api/admin/', '')]
    })
  const list = async <Row>(key: string, name: string, query: Record<string, string> = {}) => {
    const { status, json } = await api.request('GET', `/api/admin/${name}?${new URLSearchParams(query)}`, {
      key,
    })
    assert.equal(status, 200)
    return json as AdminPage<Row>
  }
  const listAll = async <Row>(key: string, name: string, query: Record<string, string>) => {
    const rows: Row[] = []
    for (let cursor = ''; ; ) {
      const page = await list<Row>(key, name, { ...query, ...(cursor && { cursor }) })
      rows.push(...page.rows)
      if (page.nextCursor === null) return rows
      assert.ok(page.rows.length > 0 && page.nextCursor !== cursor, `${name} does not advance from ${cursor}`)
      cursor = page.nextCursor
    }
  }

  test('have the sites of all accounts and of none, the newest, largest or most visited first', async () => {
    const { key } = await administrator(api)
    const [small, large] = [await api.account(), await api.account()]
    const first = await api.publish(small.client, { 'index.html': 'x' })
    const second = await api.publish(large.client, { 'index.html': 'x'.repeat(5000) })
    const third = await api.publish(api.anonymous, { 'index.html': 'xx' })
    const { store } = await api.operator()
    const hour = Math.floor(api.clock.now / HOUR_MS) * HOUR_MS
    const visits = { slug: first.slug, requests: 7, bytes: 7, visitors: [], names: [] }
    for (const [days, requests] of [
      [0, 30],
      [29.5, 40],
      [30.5, 500],
    ] as const)
      await store.write('relaxed', {}, (tx) =>
        tx.visits.add(hour - days * DAY_MS, 0, [{ ...visits, requests }]),
      )
    await api.sweep('figures')
    const own = new Set([first, second, third].map(({ slug }) => slug))
    const slugs = async (sort: string) =>
      pluck(await listAll<AdminSite>(key, 'sites', { sort, limit: '2' }), 'slug').filter((slug) =>
        own.has(slug),
      )
    assert.deepEqual(await slugs('age'), [third.slug, second.slug, first.slug])
    assert.deepEqual(await slugs('bytes'), [second.slug, third.slug, first.slug])
    assert.equal((await slugs('visits'))[0], first.slug)
    const [shown] = (await list<AdminSite>(key, 'sites', { q: second.slug })).rows
    assert.deepEqual(
      [shown!.owner?.email, shown!.bytes, shown!.status, shown!.title],
      [large.email, 5000, 'active', null],
    )
    const [visited] = (await list<AdminAccount>(key, 'accounts', { sort: 'visits', limit: '1' })).rows
    assert.deepEqual([visited!.email, visited!.visits, visited!.sites], [small.email, 70, 1])
    await small.client.delete(first.slug)
    await api.sweep('figures')
    const counted = await store.read.figures.order('site', 'visits', { limit: 1000 })
    assert.ok(!pluck(counted, 'id').includes(first.slug))
    assert.equal(await api.sweep('figures'), 0)
  })

  test('are searched by the beginnings of slugs, titles, domains and email addresses', async () => {
    const { key } = await administrator(api)
    const owner = await api.account('quarry@stone.example')
    const { slug } = await api.publish(owner.client, {
      'index.html': '<title>Quarrying today</title>',
    })
    await owner.client.addDomain('quarry.example.com', slug)
    await api.sweep('figures')
    for (const q of [slug.slice(0, -1), 'quarrying', 'QUARRY.ex', 'quarry@'])
      assert.deepEqual(pluck((await list<AdminSite>(key, 'sites', { q })).rows, 'slug'), [slug], q)
    for (const q of ['quarry.', 'quarry@stone'])
      assert.deepEqual(
        (await list<AdminDomain>(key, 'domains', { q })).rows.map(({ domain, owner }) => [
          domain,
          owner?.email,
        ]),
        [['quarry.example.com', owner.email]],
      )
    const [account] = (await list<AdminAccount>(key, 'accounts', { q: 'quarry@' })).rows
    assert.deepEqual([account!.email, account!.sites], [owner.email, 1])
    for (const q of ['uarry', '%', '_', '\u{10ffff}', "'", 'zzzz'])
      for (const name of listsWith('q'))
        assert.deepEqual((await list(key, name, { q })).rows, [], `${name}: ${q}`)
  })

  test('refuse a cursor that no list has returned, and accept that of another one', async () => {
    const { key } = await administrator(api)
    // PostgreSQL refuses the last two as positions. Of the invitations, each text is one.
    for (const position of ['["1","2"]', 'x.1', '1e300.x', `${'9'.repeat(20)}.x`])
      for (const name of listsWith('cursor').filter((name) => name !== 'invitations')) {
        const cursor = Buffer.from(position).toString('base64url')
        assertInvalid(await api.request('GET', `/api/admin/${name}?cursor=${cursor}`, { key }), 'cursor')
      }
    // The position of another list is a position.
    for (const id of ['a-slug', 'a-domain an-account', '\0'])
      for (const name of listsWith('sort')) {
        const cursor = Buffer.from(`5.${id}`).toString('base64url')
        await list(key, name, { cursor })
      }
  })
})

describe('the overview of administrators', () => {
  test('has the totals of the last count, the disk and the cache', async () => {
    const { key } = await administrator(api)
    const { client } = await api.account()
    const read = async () => (await api.request('GET', '/api/admin/overview', { key })).json as Overview
    await api.sweep('figures')
    const before = await read()
    await api.publish(client, { 'index.html': 'a content of its own, 31 bytes.' })
    await api.create(client, { 'index.html': 'never uploaded' })
    api.pass(HOUR_MS)
    assert.deepEqual((await read()).totals, before.totals)
    await api.sweep('figures')
    const { totals, countedAt, disk, cache } = await read()
    const difference = Object.entries(totals).map(([name, value]) => [
      name,
      value - before.totals[name as keyof Overview['totals']],
    ])
    assert.deepEqual(Object.fromEntries(difference), {
      ...{ sites: 2, siteBytes: 31, accounts: 0, domains: 0, versions: 1 },
      ...{ pendingVersions: 1, pendingBytes: 14, blobs: 1, blobBytes: 31 },
    })
    assert.equal(countedAt, new Date(api.clock.now).toISOString())
    assert.ok(disk.totalBytes > disk.freeBytes && disk.reserveBytes >= 0)
    assert.ok(cache.limitBytes > 0)
  })

  test('has the activity of all processes over time', async () => {
    const { key } = await administrator(api)
    const { store } = await api.operator()
    const read = async (range: string) => {
      const { json } = await api.request('GET', `/api/admin/activity?range=${range}`, { key })
      return json as Activity
    }
    for (const visits of [3, 4]) {
      const metrics = new Metrics()
      await using recorder = new ActivityRecorder({ store, metrics, log: silentLog })
      metrics
        .counter('slipway_http_requests_total', { side: 'edge', status: '2xx', cache: 'hit' })
        .add(visits)
      for (const outcome of ['live', 'unchanged', 'refused'])
        metrics.counter('slipway_publishes_total', { outcome }).add()
      await recorder.record()
      metrics.counter('slipway_http_requests_total', { side: 'api', status: '5xx', cache: 'none' }).add()
      metrics
        .histogram('slipway_store_operation_duration_seconds', { kind: 'read', outcome: 'ok' })
        .observe(0.004)
    }
    for (const [range, length] of Object.entries({ '24h': 48, '30d': 120 })) {
      const { points } = await read(range)
      assert.equal(points.length, length)
      const { visits, requests, publishes, errors, storeOperations, storeMilliseconds } = points.at(-1)!
      assert.deepEqual(
        { visits, requests, publishes, errors, storeOperations, storeMilliseconds },
        { visits: 7, requests: 2, publishes: 2, errors: 2, storeOperations: 2, storeMilliseconds: 4 },
      )
      assert.equal(points.at(-2)!.visits, 0)
    }
    const isKept = async (width: number) =>
      pluck(await store.read.activity.series({ width, from: 0, interval: HOUR_MS }), 'name').includes(
        'visits',
      )
    for (const [days, byHour] of [
      [2, true],
      [90 - 2, false],
    ] as const) {
      api.pass(days * DAY_MS + HOUR_MS)
      await api.sweep('figures')
      assert.deepEqual([await isKept(10 * MINUTE_MS), await isKept(HOUR_MS)], [false, byHour])
    }
  })

  test('has the activity of the time when the database did not answer once it does', async () => {
    const { store } = await api.operator()
    const metrics = new Metrics()
    let isAway = true
    const execute: Store['execute'] = async (durability, statement) => {
      if (isAway) throw new Error('the database is away')
      return store.execute(durability, statement)
    }
    const readVisits = async () => {
      const rows = await store.read.activity.series({ width: HOUR_MS, from: 0, interval: HOUR_MS })
      return rows.filter(({ name }) => name === 'visits').reduce((all, { sum }) => all + sum, 0)
    }
    const before = await readVisits()
    await using recorder = new ActivityRecorder({ store: { ...store, execute }, metrics, log: silentLog })
    const visits = metrics.counter('slipway_http_requests_total', {
      side: 'edge',
      status: '2xx',
      cache: 'hit',
    })
    visits.add(3)
    await recorder.record()
    visits.add(4)
    isAway = false
    await recorder.record()
    await recorder.record()
    assert.equal((await readVisits()) - before, 7)
  })

  test('has the last run of each sweep, and the failures of one that fails', async () => {
    const { key } = await administrator(api)
    const { store, telemetry } = await api.operator()
    const runs = new SweepRunRecorder({ store, telemetry, log: silentLog })
    const run = { name: 'blobs', startedAt: api.clock.now, durationMs: 12, items: 3, error: null }
    await runs.record(run)
    for (const error of ['the disk is full', 'the disk is still full'])
      await runs.record({ ...run, items: 0, error })
    const find = async () => {
      const { sweeps } = (await api.request('GET', '/api/admin/sweeps', { key })).json as AdminSweeps
      return sweeps.find(({ name }) => name === 'blobs')!
    }
    const failed = await find()
    assert.deepEqual([failed.failures, failed.lastRun?.error], [2, 'the disk is still full'])
    const { problems } = (await api.request('GET', '/api/admin/overview', { key })).json as Overview
    assert.ok(problems.sweeps >= 1)
    // Neither is in the list: one is no sweep, the other one is off.
    for (const name of [BACKUP_RUN, 'thumbnails']) await runs.record({ ...run, name, items: 0, error: 'no' })
    const later = (await api.request('GET', '/api/admin/overview', { key })).json as Overview
    assert.deepEqual(later.problems, { ...problems, backups: 1 })
    await runs.record({ ...run, name: BACKUP_RUN })
    const last = (await api.request('GET', '/api/admin/overview', { key })).json as Overview
    assert.deepEqual(last.problems, problems)
    await runs.record(run)
    await runs.record({ ...run, items: 99 })
    const { failures, failedAt, lastRun } = await find()
    assert.deepEqual([failures, lastRun?.items, lastRun?.error], [0, 3, null])
    assert.equal(failedAt, new Date(run.startedAt).toISOString())
    await runs.record({ ...run, startedAt: run.startedAt + MINUTE_MS, items: 7 })
    assert.equal((await find()).lastRun?.items, 7, 'one a minute is shown')
    for (const error of ['full', 'full']) await runs.record({ ...run, items: 0, error })
    await api.sweep('blobs')
    assert.equal((await find()).failures, 0, 'also when a command ran it')
  })

  test('has the certificates with their renewals, the first to expire first', async () => {
    const { key } = await administrator(api)
    const { store } = await api.operator()
    const at = api.clock.now
    const valid = { chain: 'chain', key: 'key', notBefore: at, issuedAt: at }
    const rows = [
      certificateRow('later.example', { ...valid, notAfter: at + 90 * DAY_MS, renewAt: at + 60 * DAY_MS }),
      certificateRow('soon.example', { ...valid, notAfter: at + DAY_MS, failures: 3, problem: 'refused' }),
    ]
    await store.write('durable', {}, async (tx) => {
      for (const row of rows) await tx.rows.insert('certificates', row)
    })
    const list = async (query: string) =>
      (await api.request('GET', `/api/admin/certificates?${query}`, { key })).json as AdminCertificates
    const first = await list('limit=1')
    const [soon] = first.rows
    const { name, expiresAt, failures, problem } = soon!
    const expected = ['soon.example', new Date(at + DAY_MS).toISOString(), 3, 'refused']
    assert.deepEqual([name, expiresAt, failures, problem], expected)
    const { rows: others } = await list(`limit=1&cursor=${first.nextCursor}`)
    const renewalTimes = others.map(({ name, renewsAt }) => [name, renewsAt])
    assert.deepEqual(renewalTimes, [['later.example', new Date(at + 60 * DAY_MS).toISOString()]])
  })

  test('has the nodes of a fleet, how far each is behind, and those that report no more', async () => {
    const { key } = await administrator(api)
    const { store } = await api.operator()
    const now = api.clock.now
    const node = {
      release: '1.2.3',
      startedAt: now - HOUR_MS,
      numbers: { slipway_store_feed_lag_seconds: 2 },
    }
    const reports = [
      { ...node, id: 'one', host: 'a:8080', seenAt: now },
      { ...node, id: 'two', host: 'b:8080', seenAt: now - 2 * MINUTE_MS, numbers: {} },
    ]
    // In a fleet the service has reported itself, at the time of an earlier test.
    const others = (await store.read.nodes.list()).map((report) => ({ ...report, seenAt: now }))
    await store.write('durable', {}, async (tx) => {
      for (const report of [...others, ...reports]) await tx.rows.put('nodes', report)
    })
    const { nodes } = (await api.request('GET', '/api/admin/nodes', { key })).json as AdminNodes
    assert.deepEqual(
      nodes
        .filter(({ id }) => id === 'one' || id === 'two')
        .map(({ host, isSilent, lagSeconds }) => [host, isSilent, lagSeconds]),
      [
        ['a:8080', false, 2],
        ['b:8080', true, null],
      ],
    )
    const { problems } = (await api.request('GET', '/api/admin/overview', { key })).json as Overview
    assert.equal(problems.silentNodes, 1)
  })
})
