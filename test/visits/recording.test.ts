import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Slipway } from '../../client/sdk/slipway.ts'
import { DAY_MS } from '../../server/lib/time.ts'
import { toFiles } from '../api/content.ts'
import { Program } from '../operator/program.ts'
import { Publisher } from '../operator/publisher.ts'
import { dumpDatabase, openTestStore } from '../support/engines.ts'
import { sendRequest } from '../support/http-client.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { waitFor } from '../support/wait-for.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { summarize } from './counted-service.ts'

const PAGE = '<!doctype html><title>A page</title>'
const FILES = toFiles({ 'index.html': PAGE })

interface VisitFixture {
  running: RunningService
  owner: Slipway
  slug: string
  visit(headers?: Record<string, string>): Promise<void>
}

async function startFixture(settings: Record<string, string> = {}): Promise<VisitFixture & AsyncDisposable> {
  const running = await startTestService(settings)
  const owner = running.client(await running.signIn('owner@example.test'))
  const { slug } = await owner.publish({ files: FILES })
  const visit = (headers = {}) => sendVisit(running.port, slug, headers)
  return { running, owner, slug, visit, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() }
}

async function sendVisit(port: number, slug: string, headers: Record<string, string> = {}): Promise<void> {
  const { status } = await sendRequest(port, { site: slug, headers })
  assert.equal(status, 200)
}

test('workers recognize the same visitor, and their counts survive a restart', async () => {
  await using folder = await memoryFolder()
  const settings = { DATA: folder.path, SECRET: 'a secret of at least 32 characters' }
  await using service = await Program.serve({ ...settings, WORKERS: '2' })
  using owner = await Publisher.signIn(service, 'owner@example.test')
  const { slug } = await owner.publish({ 'index.html': PAGE })
  await Promise.all(Array.from({ length: 200 }, () => sendVisit(service.port, slug)))
  await service.stop()
  await using again = await startTestService(settings)
  const back = again.client(await again.signIn('owner@example.test'))
  assert.deepEqual(summarize(await back.visits(slug)), {
    requests: 200,
    bytes: 200 * PAGE.length,
    visitors: 1,
    paths: { '/': 200 },
  })
})

test('a stop writes the counts before it waits for a background task', async (t) => {
  // They are also written every ten seconds.
  t.mock.timers.enable({ apis: ['setInterval'] })
  await using folder = await memoryFolder()
  const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<number>()]
  const run = () => {
    begun.resolve()
    return held.promise
  }
  const scheduledSweeps = [{ name: 'long', intervalSeconds: 1, description: '', run }]
  const running = await startTestService({ DATA: folder.path }, undefined, { scheduledSweeps })
  const { slug } = await running.client().publish({ files: FILES })
  await sendVisit(running.port, slug)
  await begun.promise
  const stopping = running[Symbol.asyncDispose]()
  await using store = await openTestStore({ folder: folder.path, clock: Date.now })
  await waitFor(async () => (await store.read.visits.sitesWithVisits('', 9)).length === 1)
  held.resolve(0)
  await stopping
})

test('neither the address nor the User-Agent of a visitor is in any file or in the log', async () => {
  await using folder = await memoryFolder()
  const { running, visit, owner, slug } = await startFixture({ DATA: folder.path, TRUSTED_PROXIES: '1' })
  const [address, agent, query] = ['203.0.113.77', 'Unmistakable/7', 'hush-hush']
  const headers = { 'User-Agent': agent, 'X-Forwarded-For': address, Referer: `https://a.example/?${query}` }
  await visit(headers)
  assert.equal((await owner.visits(slug)).totals.visitors, 1)
  await running[Symbol.asyncDispose]()
  const files = readdirSync(folder.path, { recursive: true, withFileTypes: true }).filter((file) =>
    file.isFile(),
  )
  const kept = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))
  kept.push(await dumpDatabase(folder.path))
  for (const text of [...kept, JSON.stringify(running.log)])
    for (const secret of [address, agent, query]) assert.ok(!text.includes(secret), secret)
  assert.ok(kept.some((text) => text.includes('a.example')))
})

for (const fastPath of ['on', 'off'])
  test(`behind a proxy a visitor is identified by the forwarded address, with the HTTP/1 fast path ${fastPath}`, async () => {
    await using one = await startFixture({ TRUSTED_PROXIES: '1', FAST_PATH: fastPath })
    const chains = ['192.0.2.1', '192.0.2.2', '198.51.100.9, 192.0.2.1', '198.51.100.8, 192.0.2.2']
    for (const chain of chains) await one.visit({ 'X-Forwarded-For': chain })
    const { requests, visitors } = (await one.owner.visits(one.slug)).totals
    assert.deepEqual({ requests, visitors }, { requests: 4, visitors: 2 })
  })

test('with the setting off nothing is counted, and the response shows that', async () => {
  await using one = await startFixture({ VISITS: 'off' })
  await one.visit()
  const { counted, series, ...rest } = await one.owner.visits(one.slug)
  assert.equal(counted, false)
  assert.deepEqual(
    [series, summarize({ counted, series, ...rest })],
    [[], { requests: 0, bytes: 0, visitors: 0 }],
  )
})

const RANGES = [
  ['24h', 'hour', 24, '2031-05-05T17:00:00.000Z', '2031-05-06T17:00:00.000Z'],
  ['7d', 'day', 7, '2031-04-30T00:00:00.000Z', '2031-05-07T00:00:00.000Z'],
  ['30d', 'day', 30, '2031-04-07T00:00:00.000Z', '2031-05-07T00:00:00.000Z'],
  ['90d', 'day', 90, '2031-02-06T00:00:00.000Z', '2031-05-07T00:00:00.000Z'],
] as const

test('a range has all its intervals with their visits, and none from before it', async () => {
  await using one = await startFixture()
  const { clock } = one.running
  const times = [
    '2031-02-05T23:59',
    '2031-02-06T00:00',
    '2031-04-08T12:00',
    '2031-05-05T16:59',
    '2031-05-06T16:59',
  ]
  for (const time of times) {
    clock.now = Date.parse(`${time}:30Z`)
    await one.visit()
  }
  for (const [range, interval, length, from, to] of RANGES) {
    const visits = await one.owner.visits(one.slug, range)
    assert.deepEqual(
      { interval: visits.interval, length: visits.series.length, from: visits.from, to: visits.to },
      { interval, length, from, to },
    )
    assert.equal(visits.series[0]!.at, from)
    const counted = visits.series.filter(({ requests }) => requests > 0).map(({ at }) => at)
    const unit = interval === 'hour' ? 13 : 10
    const wanted = times.filter((time) => Date.parse(`${time}Z`) >= Date.parse(from))
    assert.deepEqual(
      counted.map((at) => at.slice(0, unit)),
      wanted.map((time) => time.slice(0, unit)),
      range,
    )
    assert.equal(visits.totals.requests, wanted.length)
  }
})

test('days begin in the time zone of the reader, and the numbers are compared with those of the time before', async () => {
  await using one = await startFixture()
  const { clock } = one.running
  // Clocks in Berlin went forward on 30 March; it is 02:00 there when it is midnight in UTC.
  const times = [
    '2031-03-17T22:59',
    '2031-03-20T12:00',
    '2031-03-24T12:00',
    '2031-03-29T22:59',
    '2031-03-29T23:00',
    '2031-03-30T21:59',
    '2031-03-30T22:00',
  ]
  for (const time of times) {
    clock.now = Date.parse(`${time}:30Z`)
    await one.visit()
  }
  const { timeZone, series, totals, previous, from, to } = await one.owner.visits(one.slug, '7d', {
    timeZone: 'Europe/Berlin',
  })
  const counted = series.filter(({ requests }) => requests > 0).map(({ at, requests }) => [at, requests])
  assert.deepEqual(counted, [
    ['2031-03-28T23:00:00.000Z', 1],
    ['2031-03-29T23:00:00.000Z', 2],
    ['2031-03-30T22:00:00.000Z', 1],
  ])
  assert.deepEqual(
    [timeZone, from, to],
    ['Europe/Berlin', '2031-03-24T23:00:00.000Z', '2031-03-31T22:00:00.000Z'],
  )
  assert.deepEqual([totals.requests, previous?.requests], [4, 1])
  assert.equal((await one.owner.visits(one.slug, '24h')).previous?.requests, 1)
  assert.equal((await one.owner.visits(one.slug, '90d')).previous, null)
  for (const zone of ['Europe/Nowhere', 'x'.repeat(65), ''])
    await assert.rejects(one.owner.visits(one.slug, '7d', { timeZone: zone }), { code: 'VALIDATION_ERROR' })
})

test('each list has its 50 most requested names, without own hosts among them', async () => {
  await using one = await startFixture({ RATE_FREE: 'unlimited' })
  const numbers = Array.from({ length: 51 }, (_, number) => number)
  const names = numbers.flatMap((number) => [`${number}.html`, `${number}.css`])
  const { slug } = await one.owner.publish({
    files: toFiles(Object.fromEntries(names.map((name) => [name, PAGE]))),
  })
  const { port } = one.running
  const renamed = `renamed-${slug.slice(0, 8)}`
  const visit = (path: string, from: string) =>
    sendRequest(port, { site: slug, path, headers: { Referer: `http://${from}/` } })
  for (const name of [...names, ...numbers.map((number) => `${number}/none`)])
    await visit(`/${name}`, `${Number.parseInt(name, 10)}.example`)
  // The name that the site gets later is the first referrer.
  for (let times = 0; times < 5; times++) await visit('/0.html', `${renamed}.localhost`)
  await one.owner.renameSite(slug, renamed)
  const { topPaths, topPages, topFiles, missingPaths, referrers } = await one.owner.visits(renamed)
  for (const [what, list] of Object.entries({ topPaths, topPages, topFiles, missingPaths, referrers })) {
    assert.equal(list.length, 50, what)
    assert.ok(!list.some(({ name }) => name.startsWith(renamed)), what)
  }
})

test('one path, missing path or referrer is shown by UTC day, with the sum that its list has', async () => {
  await using one = await startFixture()
  const { clock, port } = one.running
  const noon = Date.parse('2031-03-27T12:00Z')
  const requests: [days: number, path: string, referer?: string][] = [
    [9, '/'],
    [2, '/', 'https://news.example/today'],
    [2, '/none'],
    [0, '/'],
    [0, '/', 'https://news.example/'],
  ]
  for (const [days, path, referer] of requests) {
    clock.now = noon - days * DAY_MS
    await sendRequest(port, { site: one.slug, path, headers: referer ? { Referer: referer } : {} })
    await one.owner.visits(one.slug)
  }
  const CASES = [
    ['path', '/', 'topPages', { '2031-03-25': 1, '2031-03-27': 2 }],
    ['missing', '/none', 'missingPaths', { '2031-03-25': 1 }],
    ['referrer', 'news.example', 'referrers', { '2031-03-25': 1, '2031-03-27': 1 }],
  ] as const
  for (const [kind, name, list, wanted] of CASES) {
    const { filtered, ...all } = await one.owner.visits(one.slug, '7d', { [kind]: name })
    assert.ok(filtered)
    const { series, ...rest } = filtered
    const sum = Object.values(wanted).reduce((total, count) => total + count, 0)
    assert.deepEqual(rest, { kind, name, requests: sum })
    assert.deepEqual(all[list], [{ name, requests: sum }])
    assert.deepEqual([series.length, series[0]!.at], [7, '2031-03-21T00:00:00.000Z'])
    const counted = series.filter((day) => day.requests > 0)
    assert.deepEqual(Object.fromEntries(counted.map((day) => [day.at.slice(0, 10), day.requests])), wanted)
    const unfiltered = await one.owner.visits(one.slug)
    assert.deepEqual({ ...all, filtered: null }, unfiltered)
  }
  const berlin = { timeZone: 'Europe/Berlin', path: '/' }
  assert.equal((await one.owner.visits(one.slug, '7d', berlin)).filtered!.series.length, 8)
  assert.equal((await one.owner.visits(one.slug, '24h', { path: '/' })).filtered!.series.length, 2)
  assert.equal((await one.owner.visits(one.slug, '7d', { path: '/no' })).filtered!.requests, 0)
  await assert.rejects(one.owner.visits(one.slug, '7d', { path: '/', referrer: 'news.example' }), {
    code: 'VALIDATION_ERROR',
    message: 'referrer: cannot be combined with path: paths and hosts are counted separately',
  })
})
