import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { DEFAULT_BRANDING } from '../../protocol/branding.ts'
import {
  assertSharedSettings,
  compareBranding,
  findDifferentSettings,
  replaceSharedSettings,
  storeBranding,
} from '../../server/operations/fleet/shared-settings.ts'
import { openStore } from '../store/test-database.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import type { BorrowedDatabase } from '../tools/postgres-databases.ts'

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
  let database: BorrowedDatabase
  before(async () => {
    database = await (await sharedPostgres()).borrowDatabase()
  })
  after(() => database[Symbol.asyncDispose]())

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

  test('do not include the branding, which `check` compares with that of the node that started last', async () => {
    await using store = await freshStore()
    const branding = { ...DEFAULT_BRANDING, name: 'Harbor' }
    await storeBranding(store, DEFAULT_BRANDING)
    const compare = async () => compareBranding(await store.read.sharedSettings.list(), branding)
    assert.deepEqual(await compare(), ['SLIPWAY_NAME'])
    assert.deepEqual(await findDifferentSettings(store, COMMON), [])
    await storeBranding(store, branding)
    assert.deepEqual(await compare(), [])
    assert.deepEqual(compareBranding([], branding), [], 'an earlier release stores none')
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
