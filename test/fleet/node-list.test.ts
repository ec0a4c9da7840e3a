import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Incidents } from '../../server/lib/incidents.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../server/lib/time.ts'
import { formatNodes, NodeReporter } from '../../server/operations/fleet/nodes.ts'
import { openTestStore } from '../support/engines.ts'
import { silentLog } from '../support/silent-log.ts'
import { waitFor } from '../support/wait-for.ts'
import { memoryFolder } from '../tools/memory-folder.ts'

test('a node whose disk is full is not ready while another has room, and is again when no other has', async () => {
  await using stack = new AsyncDisposableStack()
  const { path } = stack.use(await memoryFolder())
  const store = stack.use(await openTestStore({ folder: path, clock: Date.now }))
  const start = (host: string) => {
    const disk = { isFull: false }
    const metrics = new Metrics()
    const incidents = new Incidents({ log: silentLog, metrics })
    incidents.watch('disk-below-reserve', () => (disk.isFull ? {} : undefined))
    const parts = { store, metrics, incidents, log: silentLog, host, release: '1', intervalMs: 1 }
    const reporter = stack.use(new NodeReporter(parts))
    return {
      reporter,
      /** Resolves after a report that began later. */
      async fill(isFull: boolean) {
        disk.isFull = isFull
        await incidents.check()
        const now = store.clock()
        while (!(await store.read.nodes.list()).some((node) => node.host === host && node.seenAt > now));
      },
    }
  }
  const [one, worker] = [start('one:80'), start('one:81')]
  await one.fill(true)
  await worker.fill(false)
  for (let reports = 0; reports < 2; reports++) await one.fill(true)
  assert.equal(one.reporter.isReplaceable, false, 'another process has the same disk')
  await worker.fill(true)
  const other = start('other:80')
  while (!one.reporter.isReplaceable) await other.fill(false)
  await other.fill(true)
  await waitFor(() => !one.reporter.isReplaceable)
  assert.equal(other.reporter.isReplaceable, false, 'the last one stays')
  await other.fill(false)
  await waitFor(() => one.reporter.isReplaceable)
  await one.fill(false)
  await waitFor(() => !one.reporter.isReplaceable)
})

test('a node stays ready until another one has reported that it has room since its own disk became full', async () => {
  await using stack = new AsyncDisposableStack()
  const { path } = stack.use(await memoryFolder())
  let now = DAY_MS
  const store = stack.use(await openTestStore({ folder: path, clock: () => now }))
  const report = (id: string) =>
    store.execute('relaxed', ({ rows }) =>
      rows.put('nodes', { id, host: id, release: '1', startedAt: now, seenAt: now, numbers: {} }),
    )
  await report('other')
  now += SECOND_MS
  const metrics = new Metrics()
  const incidents = new Incidents({ log: silentLog, metrics })
  incidents.watch('disk-below-reserve', () => ({}))
  await incidents.check()
  let reports = 0
  const execute: typeof store.execute = (...given) => {
    reports++
    return store.execute(...given)
  }
  const parts = {
    store: { ...store, execute },
    metrics,
    incidents,
    log: silentLog,
    host: 'one',
    release: '1',
  }
  const reporter = stack.use(new NodeReporter({ ...parts, intervalMs: 1 }))
  await waitFor(() => reports >= 2)
  assert.equal(reporter.isReplaceable, false, 'the disk of the other one may be full as well')
  await report('other')
  await waitFor(() => reporter.isReplaceable)
})

test('after an outage of the database, a node is silent only if it does not report itself again', async () => {
  await using stack = new AsyncDisposableStack()
  const { path } = stack.use(await memoryFolder())
  let [now, isAway] = [DAY_MS, false]
  const store = stack.use(await openTestStore({ folder: path, clock: () => now }))
  const report = (id: string) =>
    store.execute('relaxed', ({ rows }) =>
      rows.put('nodes', { id, host: id, release: '1', startedAt: now, seenAt: now, numbers: {} }),
    )
  await report('lost')
  await report('other')
  const metrics = new Metrics()
  const incidents = new Incidents({ log: silentLog, metrics })
  incidents.watch('disk-below-reserve', () => ({}))
  await incidents.check()
  const execute: typeof store.execute = (...args) =>
    isAway ? Promise.reject(new Error('away')) : store.execute(...args)
  let failures = 0
  const log = { ...silentLog, debug: () => void failures++ }
  const parts = { store: { ...store, execute }, metrics, incidents, log, host: 'one', release: '1' }
  const reporter = stack.use(new NodeReporter({ ...parts, intervalMs: 1 }))
  const isSilent = async () => {
    await incidents.check()
    return metrics.read()['slipway_incident{incident="node-silent"}'] === 1
  }
  // A report that sees the other node ends with this.
  await waitFor(() => reporter.isReplaceable)
  isAway = true
  now += MINUTE_MS
  await waitFor(() => failures >= 1 && !reporter.isReplaceable)
  await report('other')
  isAway = false
  await waitFor(() => reporter.isReplaceable)
  assert.equal(await isSilent(), false, 'all were cut off')
  now += MINUTE_MS
  await waitFor(() => isSilent())
})

test('a node that was killed is not listed twice once it runs again, and not at all after it is stopped', async () => {
  await using stack = new AsyncDisposableStack()
  const { path } = stack.use(await memoryFolder())
  const store = stack.use(await openTestStore({ folder: path, clock: () => DAY_MS }))
  const parts = { store, metrics: new Metrics(), log: silentLog, release: '1', host: 'one' }
  const other = { id: 'other', host: 'other', release: '1', startedAt: 0, seenAt: 0, numbers: {} }
  await store.execute('relaxed', ({ rows }) => rows.put('nodes', other))
  await store.execute('relaxed', ({ rows }) => rows.put('nodes', { ...other, id: 'killed', host: 'one' }))
  const list = async () => (await store.read.nodes.list()).map(({ id, host }) => `${host} ${id}`)
  {
    await using _reporter = new NodeReporter({ ...parts, incidents: new Incidents(parts) })
    await waitFor(async () => !(await list()).includes('one killed'))
    assert.equal((await list()).length, 2)
  }
  assert.deepEqual(await list(), ['other other'])
})

test('a node that was killed leaves the list after a day, although no other one starts', async () => {
  await using stack = new AsyncDisposableStack()
  const { path } = stack.use(await memoryFolder())
  let now = DAY_MS
  const store = stack.use(await openTestStore({ folder: path, clock: () => now }))
  const parts = { store, metrics: new Metrics(), log: silentLog, release: '1', host: 'one' }
  const killed = { id: 'killed', host: 'other', release: '1', startedAt: 0, seenAt: 0, numbers: {} }
  await store.execute('relaxed', ({ rows }) => rows.put('nodes', killed))
  stack.use(new NodeReporter({ ...parts, incidents: new Incidents(parts), intervalMs: 1 }))
  const count = async () => (await store.read.nodes.list()).length
  await waitFor(async () => (await count()) >= 2)
  now++
  await waitFor(async () => (await count()) <= 1)
})

test('the list of nodes shows how long each has run, how far behind it is, and its numbers', () => {
  const now = 10 * DAY_MS
  const node = { id: 'x', release: '1.2.3', seenAt: now - 4000 }
  const lines = formatNodes(
    [
      {
        ...node,
        host: 'web-1:8080',
        startedAt: now - 3 * DAY_MS,
        numbers: {
          slipway_store_feed_lag_seconds: 0.25,
          slipway_s3_read_bytes_total: 7,
          slipway_s3_retries_total: 0,
        },
      },
      { ...node, host: 'web-2:8080', startedAt: now - HOUR_MS, seenAt: now - 2 * MINUTE_MS, numbers: {} },
    ],
    now,
  )
  assert.deepEqual(lines, [
    'NODE        RELEASE  RUNS FOR    LAST REPORT          BEHIND',
    'web-1:8080  1.2.3    2 d         4 s ago              0.3 s',
    '  slipway_store_feed_lag_seconds 0.25',
    '  slipway_s3_read_bytes_total 7',
    'web-2:8080  1.2.3    58 min      2 min ago (silent)   -',
  ])
})
