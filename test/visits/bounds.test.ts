import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { MAX_VISIT_NAME_LENGTH } from '../../protocol/api/visits.ts'
import { BUFFER_LIMITS, ResponseCounter, StatsBuffer } from '../../server/analytics/stats-buffer.ts'
import { VisitRecorder } from '../../server/analytics/visit-recorder.ts'
import { readConfig } from '../../server/config/settings.ts'
import type { EdgeResponse } from '../../server/edge/response.ts'
import { ClientTracker, VisitCounter } from '../../server/edge/visit-counter.ts'
import { type Log, makeLog } from '../../server/lib/log.ts'
import { DAY_MS, HOUR_MS } from '../../server/lib/time.ts'
import type { Store, WriteTransaction } from '../../server/store/store.ts'
import { siteRow } from '../store/rows.ts'
import { withMethods } from '../store/with-methods.ts'
import { openTestStore } from '../support/engines.ts'
import { memoryFolder } from '../tools/memory-folder.ts'

const REQUEST_COUNT = 100_000

test('a buffer has a limited number of names, visitors and sites, and still counts all requests', () => {
  const buffer = new StatsBuffer(0)
  const flooded = buffer.site('flooded')!
  for (let number = 0; number < REQUEST_COUNT; number++) {
    flooded.requests++
    const name = flooded.name('missing', `/${number}`)
    if (name) name.requests++
    flooded.addVisitor(`visitor ${number}`)
  }
  assert.equal(flooded.requests, REQUEST_COUNT)
  assert.deepEqual(
    [[...flooded.names()].length, flooded.visitors.size],
    [BUFFER_LIMITS.namesOfSite, BUFFER_LIMITS.visitorsOfSite],
  )
  assert.deepEqual(
    [buffer.droppedNames, buffer.droppedVisitors],
    [REQUEST_COUNT - BUFFER_LIMITS.namesOfSite, REQUEST_COUNT - BUFFER_LIMITS.visitorsOfSite],
  )
  let names = 0
  let visitors = 0
  for (let number = 0; number < REQUEST_COUNT; number++) {
    const site = buffer.site(`site-${number}`)
    if (!site) continue
    site.requests++
    if (site.name('path', '/')) names++
    site.addVisitor('visitor')
    visitors += site.visitors.size
  }
  assert.equal(buffer.sites.size, BUFFER_LIMITS.sites)
  assert.equal(buffer.dropped, REQUEST_COUNT - (BUFFER_LIMITS.sites - 1))
  assert.deepEqual(
    [names, visitors],
    [BUFFER_LIMITS.names - BUFFER_LIMITS.namesOfSite, BUFFER_LIMITS.visitors - BUFFER_LIMITS.visitorsOfSite],
  )
})

test('a name over the length limit counts in the totals only', () => {
  const site = new StatsBuffer(0).site('a-site')!
  assert.equal(site.name('path', `/${'a'.repeat(MAX_VISIT_NAME_LENGTH)}`), undefined)
  assert.ok(site.name('path', `/${'a'.repeat(MAX_VISIT_NAME_LENGTH - 1)}`))
})

test('responses that are all different do not fill the memory', () => {
  const buffer = new StatsBuffer(0)
  const hung = Array.from({ length: REQUEST_COUNT }, () => buffer.register(new ResponseCounter()))
  assert.equal(hung.filter(Boolean).length, BUFFER_LIMITS.tallies)
})

/** A recorder with a store that can be made unavailable, and its log messages. */
async function openRecorder(options: { maxUnitsPerDay?: number } = {}) {
  const stack = new AsyncDisposableStack()
  const { path: folder } = stack.use(await memoryFolder())
  const clock = { now: 10 * DAY_MS }
  const store = stack.use(await openTestStore({ folder, clock: () => clock.now }))
  await store.write('durable', {}, (tx) => tx.sites.insert(siteRow('a-site')))
  const state = { unavailable: false, writes: 0, mostRows: 0 }
  const watched = (visits: WriteTransaction['visits']) =>
    withMethods(visits, {
      add: (hour, day, sites) => {
        const rows = sites.reduce((sum, { visitors, names }) => sum + 1 + visitors.length + names.length, 0)
        state.mostRows = Math.max(state.mostRows, rows)
        return visits.add(hour, day, sites)
      },
    })
  const fragile: Store = {
    ...store,
    write: (durability, scope, work) => {
      state.writes++
      if (state.unavailable) return Promise.reject(new Error('the store is unavailable'))
      return store.write(durability, scope, (tx) => work(withMethods(tx, { visits: watched(tx.visits) })))
    },
  }
  const messages: string[] = []
  const log: Log = makeLog({
    level: 'info',
    text: false,
    write: (line) => void messages.push(JSON.parse(line).message),
  })
  const recorder = stack.use(new VisitRecorder({ store: fragile, clock: () => clock.now, log, ...options }))
  const totals = async () => {
    const [row] = await store.read.visits.series('a-site', { from: 0, to: 1e15, interval: 1000 * DAY_MS })
    return { requests: row?.requests ?? 0, visitors: row?.visitors ?? 0 }
  }
  const counted = async () => (await totals()).requests
  const visit = (requests: number, visitors: readonly string[] = []) => {
    recorder.rotateIfDue(clock.now)
    const site = recorder.buffer.site('a-site')!
    site.requests += requests
    for (const visitor of visitors) site.addVisitor(visitor)
  }
  const end = () => stack.disposeAsync()
  return { recorder, store, clock, state, messages, totals, counted, visit, [Symbol.asyncDispose]: end }
}

test('counts that could not be written are written once later', async () => {
  await using one = await openRecorder()
  one.state.unavailable = true
  for (let hour = 0; hour < 3; hour++) {
    one.clock.now += HOUR_MS
    one.visit(1)
    await one.recorder.flush()
  }
  assert.equal(await one.counted(), 0)
  assert.ok(one.messages.every((message) => message === 'writing visits failed; will retry'))
  one.state.unavailable = false
  one.visit(10)
  await Promise.all([one.recorder.flush(), one.recorder.flush()])
  assert.equal(await one.counted(), 13)
  await one.recorder.flush()
  assert.equal(await one.counted(), 13)
})

test('counts for an unavailable store are limited, and dropped ones are logged', async () => {
  await using one = await openRecorder()
  one.state.unavailable = true
  for (let hour = 0; hour < 10; hour++) {
    one.clock.now += HOUR_MS
    one.visit(2 ** hour)
    await one.recorder.flush()
  }
  one.state.unavailable = false
  await one.recorder.flush()
  assert.equal(await one.counted(), 2 ** 10 - 2 ** 3)
  assert.equal(one.messages.filter((message) => message.startsWith('visits lost')).length, 3)
})

test('frequent reads while the store is unavailable drop no counts and cause few writes', async () => {
  await using one = await openRecorder()
  one.state.unavailable = true
  for (let time = 0; time < 20; time++) {
    one.visit(1)
    await one.recorder.flush()
  }
  one.state.writes = 0
  await Promise.all(Array.from({ length: 100 }, () => one.recorder.flush()))
  assert.equal(one.state.writes, 1)
  one.state.unavailable = false
  await one.recorder.flush()
  assert.equal(await one.counted(), 20)
  assert.ok(!one.messages.some((message) => message.startsWith('visits lost')))
})

test('the counts of a site with many visitors are written completely, in several transactions', async () => {
  await using one = await openRecorder()
  const visitors = Array.from({ length: 1700 }, (_, number) => `visitor ${number}`)
  one.visit(1700, visitors)
  one.recorder.buffer.site('a-site')!.bytes = 10
  for (let number = 0; number < 500; number++) {
    one.recorder.buffer.site('a-site')!.name('path', `/${number}`)!.requests++
    one.recorder.buffer.site('a-site')!.name('missing', `/${number}`)!.requests += 2
  }
  await one.recorder.flush()
  assert.deepEqual(await one.totals(), { requests: 1700, visitors: 1700 })
  const [hour] = await one.store.read.visits.series('a-site', { from: 0, to: 1e15, interval: HOUR_MS })
  assert.equal(hour?.bytes, 10)
  for (const [kind, requests] of [
    ['path', 1],
    ['missing', 2],
  ] as const) {
    const names = await one.store.read.visits.top('a-site', kind, { from: 0, to: 1e15, limit: 1000 })
    assert.deepEqual([names.length, new Set(names.map((name) => name.requests))], [500, new Set([requests])])
  }
  assert.ok(one.state.mostRows <= 500, `${one.state.mostRows} rows in one write`)
})

test('the visitors of a day are limited, and a returning one does not count again', async () => {
  await using one = await openRecorder({ maxUnitsPerDay: 10 })
  for (let time = 0; time < 20; time++) {
    one.visit(1, ['ann', 'bob', 'cid'])
    await one.recorder.flush()
  }
  one.visit(1, ['dan', 'eve', 'fay', 'gus', 'hal', 'ida', 'joe'])
  await one.recorder.flush()
  assert.deepEqual(await one.totals(), { requests: 21, visitors: 10 })
  one.visit(1, ['kim'])
  await one.recorder.flush()
  assert.deepEqual(await one.totals(), { requests: 22, visitors: 10 })
  assert.deepEqual(one.messages, [
    'daily limit of counted names reached',
    'daily limit of counted visitors reached',
  ])
  one.clock.now += DAY_MS
  one.visit(1, ['kim'])
  await one.recorder.flush()
  assert.deepEqual(await one.totals(), { requests: 23, visitors: 11 })
})

test('the names of a day are limited by their length, and a known one does not count again', async () => {
  await using one = await openRecorder({ maxUnitsPerDay: 20 })
  const visit = async (...names: string[]) => {
    one.visit(1, ['ann'])
    for (const name of names) one.recorder.site('a-site')!.name('path', name)!.requests++
    await one.recorder.flush()
    return (await one.store.read.visits.top('a-site', 'path', { from: 0, to: 1e15, limit: 100 })).length
  }
  for (let time = 0; time < 20; time++) assert.equal(await visit('/', '/a'), 2)
  assert.equal(await visit(`/${'x'.repeat(400)}`, '/b'), 4)
  assert.equal(await visit('/c'), 4)
  assert.equal((await one.totals()).requests, 22)
  assert.deepEqual(one.messages, ['daily limit of counted names reached'])
  one.clock.now += DAY_MS
  assert.equal(await visit('/c'), 5)
})

test('a name that was dropped among the least requested and comes back counts once', async () => {
  await using one = await openRecorder({ maxUnitsPerDay: 3000 })
  for (let write = 0; write < 30; write++) {
    one.visit(1)
    for (let number = 0; number < 500; number++)
      one.recorder.site('a-site')!.name('path', `/${(write % 3) * 500 + number}`)!.requests++
    await one.recorder.flush()
  }
  assert.deepEqual(one.messages, [])
})

test('more sites than the buffer holds are written before any is dropped', async () => {
  await using one = await openRecorder()
  for (let number = 0; number <= BUFFER_LIMITS.sites; number++) {
    assert.ok(one.recorder.site(`site-${number}`), `site ${number}`)
    if (number % 1000 === 0) await turnOfTheLoop()
  }
  await one.recorder.flush()
  assert.deepEqual(one.messages, [])
})

test('a cached response does not retain long request paths', async () => {
  await using one = await openRecorder()
  const counting = new VisitCounter({
    recorder: one.recorder,
    clientIp: () => '192.0.2.1',
    config: readConfig({ SLIPWAY_SITE_DOMAIN: 'sites.test' }),
  })
  const visitor = new ClientTracker({ remoteAddress: '192.0.2.1' })
  const response: EdgeResponse = { status: 301, headers: [] }
  const count = (path: string, query: string) => {
    const target = { path, query }
    const request = { host: 'a-site.sites.test', isSecure: false, target, headers: {}, socket: {} }
    counting.count(request, { response, visit: 'a-site' }, visitor)
  }
  const long = 'x'.repeat(8000)
  for (const query of [`?${long}`, '?short', `?${long}`]) count('/old', query)
  count(`/${long}`, '')
  const counter = counting.findCounter(response)
  assert.equal(counter?.path, '/old')
  await one.recorder.flush()
  assert.equal(counter.path, '')
  assert.equal(await one.counted(), 4)
})

test('visits of an hour are written together, and a recorder without visits writes nothing', async () => {
  await using one = await openRecorder()
  await one.recorder.flush()
  assert.equal(one.state.writes, 0)
  for (let visit = 0; visit < 100; visit++) one.visit(1)
  await one.recorder.flush()
  assert.equal(await one.counted(), 100)
  assert.equal(one.state.writes, 2, 'one for the salt of the day, one for the visits')
})
