import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readConfig } from '../../server/config/settings.ts'
import { INCIDENTS, Incidents } from '../../server/lib/incidents.ts'
import { makeLog } from '../../server/lib/log.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import type { Secrets } from '../../server/lib/tokens.ts'
import {
  assertSharedSettings,
  FleetSettings,
  findDifferentSettings,
  replaceSharedSettings,
} from '../../server/operations/fleet/fleet-settings.ts'
import { NodeReporter } from '../../server/operations/fleet/nodes.ts'
import { openStore } from '../store/test-database.ts'
import { startForAllTests } from '../support/started-fixture.ts'
import { waitFor } from '../support/wait-for.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres } from '../tools/postgres.ts'

const COMMON = {
  secret: 'a secret that all of the nodes have in common',
  baseUrl: 'https://slipway.example',
  siteDomain: 'sites.example',
  proxyHost: 'domains.sites.example',
  blobsUrl: 's3://bucket/sites?region=eu-west-1&endpoint=https://s3.example',
}
const OTHER_SECRET = 'the secret that replaces the common one'

const DIFFERENT: [name: string, change: Partial<typeof COMMON>][] = [
  ['SLIPWAY_SECRET', { secret: OTHER_SECRET }],
  ['SLIPWAY_BASE_URL', { baseUrl: 'https://elsewhere.example' }],
  ['SLIPWAY_SITE_DOMAIN', { siteDomain: 'elsewhere.example' }],
  ['SLIPWAY_PROXY_HOST', { proxyHost: 'proxy.elsewhere.example' }],
  ['SLIPWAY_BLOBS_URL', { blobsUrl: 's3://other-bucket/sites?endpoint=https://s3.example' }],
  ['SLIPWAY_BLOBS_URL', { blobsUrl: 's3://bucket/other?endpoint=https://s3.example' }],
  ['SLIPWAY_BLOBS_URL', { blobsUrl: 's3://bucket/sites?endpoint=https://s3.elsewhere.example' }],
  ['SLIPWAY_BLOBS_URL', { blobsUrl: '' }],
]

describe('settings that all nodes have in common', requires('postgres'), () => {
  const database = startForAllTests(async () => (await sharedPostgres()).borrowDatabase())

  async function freshStore() {
    await database.clear()
    return openStore(database.url)
  }

  test('are those of the first node, and a node with others is refused by their names', async () => {
    await using store = await freshStore()
    for (let node = 0; node < 2; node++) assert.deepEqual(await findDifferentSettings(store, COMMON), [])
    for (const [name, change] of DIFFERENT) {
      const refusal = await assertSharedSettings(store, { ...COMMON, ...change }).catch(
        (error: Error) => error,
      )
      assert.ok(refusal)
      assert.match(refusal.message, new RegExp(`^${name} differs from that of the other nodes`))
      for (const value of Object.values(change)) assert.ok(value === '' || !refusal.message.includes(value))
    }
    const sameBucket = 's3://bucket//sites/?endpoint=https://s3.example:443'
    assert.deepEqual(await findDifferentSettings(store, { ...COMMON, blobsUrl: sameBucket }), [])
    const stored = JSON.stringify(await store.read.sharedSettings.list())
    for (const value of Object.values(COMMON)) assert.ok(!stored.includes(value))
    await replaceSharedSettings(store, { ...COMMON, ...DIFFERENT[1]![1] })
    assert.deepEqual(await findDifferentSettings(store, COMMON), ['SLIPWAY_BASE_URL'])
  })

  test('of plans, limits and branding may differ, and a node says so while one with others that started later runs', async () => {
    await using store = await freshStore()
    const plans = (first: string, second: string) =>
      `{"team":{"sites":5,"domains":2},${first}:{},${second}:{}}`
    const node = (environment: Record<string, string>, secret: Secrets = COMMON.secret) => {
      const settings = new FleetSettings(readConfig(environment), secret)
      return { settings, compare: async () => settings.findDifferent(await store.read.sharedSettings.list()) }
    }
    const equal = { SLIPWAY_PLANS: plans('"a"', '"b"'), SLIPWAY_PORT: '80' }
    const first = node(equal)
    assert.deepEqual(await first.compare(), [], 'no other node has started')
    await first.settings.store(store)
    for (const same of [
      node({ SLIPWAY_PLANS: plans('"b"', '"a"'), SLIPWAY_VERSIONS_KEPT: '10' }),
      node(equal, [OTHER_SECRET, COMMON.secret]),
    ])
      assert.deepEqual(await same.compare(), [])
    const changed = {
      SLIPWAY_PLANS: plans('"a"', '"c"'),
      SLIPWAY_COLOR: '#0b5a75',
      SLIPWAY_VERSIONS_KEPT: '3',
      SLIPWAY_CACHE_BYTES: '2MB',
    }
    const other = node(changed)
    const names = ['SLIPWAY_COLOR', 'SLIPWAY_PLANS', 'SLIPWAY_VERSIONS_KEPT']
    assert.deepEqual(await other.compare(), names)
    assert.deepEqual(await findDifferentSettings(store, COMMON), [])
    await other.settings.store(store)
    assert.deepEqual(await node(changed).compare(), [], 'a node whose settings were changed too')
    await first.settings.store(store)
    await using nodes = new AsyncDisposableStack()
    const run = ({ settings }: typeof first, host: string) => {
      const lines: Record<string, unknown>[] = []
      const log = makeLog({ level: 'info', text: false, write: (line) => void lines.push(JSON.parse(line)) })
      const metrics = new Metrics()
      const incidents = nodes.use(new Incidents({ log, metrics }))
      const reporter = nodes.use(
        new NodeReporter({ store, metrics, log, incidents, settings, host, release: '1', intervalMs: 1 }),
      )
      const untilLogged = (count: number) =>
        waitFor(async () => {
          await incidents.check()
          return lines.length === count
        })
      return { lines, reporter, untilLogged }
    }
    const running = run(first, 'one:8080')
    await waitFor(async () => (await store.read.nodes.list()).length === 1)
    const odd = run(other, 'other:8080')
    await running.untilLogged(1)
    assert.deepEqual(await first.compare(), names, 'as `check` finds while the other node runs')
    await odd.reporter[Symbol.asyncDispose]()
    await running.untilLogged(2)
    assert.deepEqual(
      running.lines.map(({ message, settings }) => [message, settings]),
      [INCIDENTS['settings-differ'].began, INCIDENTS['settings-differ'].ended].map((message) => [
        message,
        names.join(', '),
      ]),
    )
    assert.deepEqual([odd.lines, await first.compare()], [[], []])
  })

  test('of nodes that start at the same time are those of one of them', async () => {
    await using store = await freshStore()
    const nodes = Array.from({ length: 8 }, (_, node) => ({ ...COMMON, baseUrl: `https://${node}.example` }))
    const differences = await Promise.all(nodes.map((node) => findDifferentSettings(store, node)))
    assert.equal(differences.filter((names) => names.length === 0).length, 1)
  })

  test('allow a secret to be replaced node by node', async () => {
    await using store = await freshStore()
    const refuses = async (...secret: [string, ...string[]]) =>
      (await findDifferentSettings(store, { ...COMMON, secret })).length > 0
    const [old, next] = [COMMON.secret, OTHER_SECRET]
    assert.deepEqual(
      [await refuses(old), await refuses(old, next), await refuses(next, old), await refuses(next)],
      [false, false, false, true],
    )
    await replaceSharedSettings(store, { ...COMMON, secret: [next, old] })
    assert.deepEqual(
      [await refuses(old), await refuses(old, next), await refuses(next, old), await refuses(next)],
      [true, false, false, false],
    )
  })
})
