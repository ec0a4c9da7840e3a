import assert from 'node:assert/strict'
import { StatementSync } from 'node:sqlite'
import { beforeEach, describe, type TestContext, test } from 'node:test'
import { HOUR_MS, MINUTE_MS } from '../../server/lib/time.ts'
import { sha256 } from '../api/content.ts'
import { EdgeFixture, noise } from './fixture.ts'

const edge = EdgeFixture.shared()
beforeEach(() => {
  edge.store.unavailable = false
  edge.store.silenceMs = () => 0
  // Changes are notified again, which closes the breaker.
  edge.clock.now++
  edge.store.delayRead = () => undefined
})

/** Services of other files of this process have statements of their own. */
function recordSqlite(t: TestContext, names: ReadonlySet<unknown>): string[] {
  const statements: string[] = []
  const { all } = StatementSync.prototype
  t.mock.method(
    StatementSync.prototype,
    'all',
    function (this: StatementSync, ...given: Parameters<typeof all>) {
      if (given.some((value) => names.has(value))) statements.push(this.sourceSQL)
      return all.apply(this, given)
    },
  )
  return statements
}

/** From now on the store does not notify of changes. */
function beSilent(): void {
  const since = edge.clock.now
  edge.store.silenceMs = () => edge.clock.now - since
}

/** Number of store reads during `work`. */
async function reads(work: () => Promise<unknown>): Promise<number> {
  const before = edge.store.reads
  await work()
  return edge.store.reads - before
}

/** Runs `work` once, after the next read by this query and before its result. */
function duringRead(query: string, work: () => Promise<unknown>): { isOver: boolean } {
  const state = { isOver: false }
  edge.store.delayRead = async (name) => {
    if (name !== query || state.isOver) return
    state.isOver = true
    await work()
  }
  return state
}

describe('a cached visit', () => {
  test('reads nothing from the store, whatever its path', async () => {
    const slug = await edge.publish({ 'index.html': 'x', 'docs/index.html': 'y', 'big.bin': noise(300_000) })
    const draft = await edge.createVersion(slug, { 'index.html': 'draft' }, { live: false })
    const pending = await edge.createSite()
    const gone = await edge.publish({ 'index.html': 'x' })
    await edge.deleteSite(gone, 'expired')
    await edge.addDomain('warm.example.org', slug)
    const all = async () => {
      for (const path of ['/', '/docs', '/docs/', '/nowhere', '/%', '/big.bin']) {
        for (const method of ['GET', 'HEAD', 'PUT']) await edge.get(slug, path, { method })
      }
      await edge.get(slug, '/', { headers: { 'if-none-match': '*' } })
      await edge.get(`${draft}--${slug}`)
      await edge.request('warm.example.org', '/')
      for (const other of [pending, gone, 'no-such-site', `${'0'.repeat(26)}--${slug}`, 'no--slug'])
        await edge.get(other)
      await edge.request('unknown.example.org', '/')
    }
    assert.ok((await reads(all)) > 0)
    assert.equal(await reads(all), 0)
  })

  test('of an unknown host reads again after a second', async () => {
    for (const host of ['unknown.sites.test', 'unknown.example.org']) {
      assert.equal(await reads(() => edge.request(host, '/')), 1)
      edge.clock.now += 999
      assert.equal(await reads(() => edge.request(host, '/')), 0)
      edge.clock.now += 1
      assert.equal(await reads(() => edge.request(host, '/')), 1)
    }
  })
})

test('uncached visits are one statement each, and two for a domain that redirects to another one', async (t) => {
  const contents = { 'index.html': '<title>x</title>', 'a.txt': 'a' }
  const encoded = { 'a.txt': { gzip: 'zipped' } }
  const slug = await edge.publish(contents, {}, { encoded })
  const before = await edge.createVersion(slug, { 'old.txt': 'old' })
  const live = await edge.createVersion(slug, contents, { encoded })
  const draft = await edge.createVersion(slug, { 'draft.txt': 'draft' }, { live: false })
  const [domain, www] = ['cold.example.org', 'www.cold.example.org']
  await edge.addDomain(domain, slug, { accountId: 'an account' })
  await edge.addDomain(www, slug, { accountId: 'an account', primaryDomain: domain })
  const { serving } = edge.store.read
  const end = edge.clock.now + HOUR_MS
  for (const [now, path] of [[end - 1, 'old.txt'] as const, [end] as const]) {
    const found = await serving.findSite(slug, { now, withLive: true })
    assert.equal(found?.formerFiles?.[0]?.path, path, 'former files, within their hour only')
  }
  const unknown = 'unknown-and-cold.example.org'
  const statements = recordSqlite(t, new Set([slug, live, before, draft, domain, www, unknown, sha256('a')]))
  const host = edge.host(slug)
  const visits: [string, string, string, number][] = [
    ['a site', host, '/a.txt', 1],
    ['a former file', host, '/old.txt', 1],
    ['a version', edge.host(`${before}--${slug}`), '/old.txt', 1],
    ['a draft', edge.host(`${draft}--${slug}`), '/draft.txt', 1],
    ['a domain', domain, '/a.txt', 1],
    ['a domain that redirects to another one', www, '/a.txt', 2],
    ['a host that does not exist', unknown, '/', 1],
    ['a version that does not exist', edge.host(`${'0'.repeat(26)}--${slug}`), '/', 1],
  ]
  for (const [title, name, path, expected] of visits) {
    edge.forgetAll()
    const first = statements.length
    const { status } = await edge.request(name, path)
    assert.equal(statements.length - first, expected, `${title}: ${statements.slice(first).join('\n')}`)
    assert.equal(status, title.includes('not exist') ? 404 : title.includes('redirects') ? 308 : 200, title)
  }
  await edge.get(slug, '/a.txt')
  const warm = statements.length
  assert.equal((await edge.get(`${draft}--${slug}`, '/draft.txt')).status, 200)
  assert.equal(statements.length - warm, 1, 'a draft of a cached site')
  assert.ok(!statements.at(-1)!.includes('1 = 1'), 'the live version is not read again')
})

describe('a change during the read of a site', () => {
  test('never serves a site without a version when its version is pruned during the read', async () => {
    const slug = await edge.createSite()
    const old = await edge.createVersion(slug, { 'index.html': 'old' })
    duringRead('serving.findSite', async () => {
      await edge.createVersion(slug, { 'index.html': 'new' })
      await edge.deleteVersion(slug, old)
    })
    assert.equal((await edge.get(slug)).text, 'old')
    assert.equal((await edge.get(slug)).text, 'new')
  })

  test('applies to passwords, previews and domains too', async () => {
    const slug = await edge.publish({ 'index.html': 'open' })
    const draft = await edge.createVersion(slug, { 'index.html': 'draft' }, { live: false })
    await edge.addDomain('late.example.org', slug)
    for (const [host, query] of [
      [edge.host(slug), 'serving.findSite'],
      [edge.host(`${draft}--${slug}`), 'serving.findSite'],
      ['late.example.org', 'serving.findDomain'],
    ] as const) {
      await edge.setPassword(slug, null)
      const change = duringRead(query, () => edge.setPassword(slug, 'secret'))
      await edge.request(host, '/')
      assert.ok(change.isOver)
      assert.equal((await edge.request(host, '/')).status, 401, host)
    }
  })

  test('applies to a domain that moves', async () => {
    const [one, two] = [await edge.publish({ 'a.txt': 'one' }), await edge.publish({ 'a.txt': 'two' })]
    await edge.addDomain('just.example.org', one)
    const change = duringRead('serving.findDomain', async () => {
      await edge.moveDomain('just.example.org', one, two)
      await edge.get(one)
    })
    await edge.request('just.example.org', '/a.txt')
    assert.ok(change.isOver)
    assert.equal((await edge.request('just.example.org', '/a.txt')).text, 'two')
  })
})

describe('while the store is unavailable', () => {
  test('cached sites are served, others get 503 with Retry-After', async () => {
    const [warm, cold] = [await edge.publish({ 'a.txt': 'a' }), await edge.publish({ 'a.txt': 'a' })]
    await edge.get(warm, '/a.txt')
    edge.store.unavailable = true
    assert.equal((await edge.get(warm, '/a.txt')).text, 'a')
    const { status, headers } = await edge.get(cold, '/a.txt')
    assert.deepEqual([status, headers['retry-after'], headers['cache-control']], [503, '7', 'no-store'])
    edge.store.unavailable = false
    assert.equal((await edge.get(cold, '/a.txt')).text, 'a')
  })

  test('a file that cannot be read keeps no other site as it was', async () => {
    const broken = await edge.publish({ 'index.html': '<title>a</title>', 'a.txt': 'a' }, { title: 'One' })
    const other = await edge.publish({ 'a.txt': 'a' })
    for (const slug of [broken, other]) assert.equal((await edge.get(slug, '/a.txt')).text, 'a')
    await edge.store.real.write('durable', {}, async (tx) => {
      await tx.sites.update(broken, { title: 'Two' })
      await tx.sites.update(other, { expiresAt: edge.clock.now })
    })
    const { bytes } = edge.blobs
    edge.blobs.bytes = () => Promise.reject(new Error('EIO'))
    edge.edge.invalidate(undefined)
    try {
      for (let time = 0; time < 3; time++) assert.equal((await edge.get(broken, '/a.txt')).status, 503)
      assert.equal((await edge.get(other, '/a.txt')).status, 410)
    } finally {
      edge.blobs.bytes = bytes
    }
  })

  test('a site known to have changed is not served from the cache', async () => {
    const slug = await edge.publish({ 'a.txt': 'a' })
    const draft = await edge.createVersion(slug, { 'a.txt': 'draft' }, { live: false })
    await edge.addDomain('changed.example.org', slug)
    const hosts = [edge.host(slug), edge.host(`${draft}--${slug}`), 'changed.example.org']
    for (const host of hosts) assert.equal((await edge.request(host, '/a.txt')).status, 200)
    await edge.setPassword(slug, 'secret')
    edge.edge.invalidate(undefined)
    edge.store.unavailable = true
    for (const host of hosts) assert.equal((await edge.request(host, '/a.txt')).status, 503, host)
    edge.store.unavailable = false
    edge.clock.now++
    assert.equal((await edge.get(slug, '/a.txt')).status, 401)
    edge.store.unavailable = true
    edge.edge.invalidate(undefined)
    for (const host of hosts) assert.notEqual((await edge.request(host, '/a.txt')).status, 200, host)
  })

  test('cached sites are served for SLIPWAY_STALE_SECONDS after the last notification, then 503', async () => {
    const slug = await edge.publish({ 'a.txt': 'a' })
    const draft = await edge.createVersion(slug, { 'a.txt': 'draft' }, { live: false })
    await edge.addDomain('silent.example.org', slug)
    const hosts = [edge.host(slug), edge.host(`${draft}--${slug}`), 'silent.example.org']
    const visit = () => Promise.all(hosts.map(async (host) => (await edge.request(host, '/a.txt')).status))
    assert.deepEqual(await visit(), [200, 200, 200])
    beSilent()
    edge.store.unavailable = true
    for (const minutes of [1, 20, 38]) {
      edge.clock.now += minutes * MINUTE_MS
      assert.deepEqual(await visit(), [200, 200, 200], `${minutes} more minutes`)
    }
    edge.clock.now += MINUTE_MS
    assert.deepEqual(await visit(), [503, 503, 503])
    edge.store.unavailable = false
    edge.store.silenceMs = () => 0
    assert.equal(
      await reads(async () => assert.deepEqual(await visit(), [200, 200, 200])),
      0,
      'nothing changed',
    )
  })

  test('passwords, expiry and the end of preview links hold by what is cached', async () => {
    const expiring = await edge.publish({ 'a.txt': 'a' }, { expiresAt: edge.clock.now + MINUTE_MS })
    const locked = await edge.publish({ 'a.txt': 'a' })
    await edge.setPassword(locked, 'secret')
    assert.equal((await edge.get(expiring, '/a.txt')).status, 200)
    assert.equal((await edge.get(locked, '/a.txt')).status, 401)
    beSilent()
    edge.store.unavailable = true
    edge.clock.now += 2 * MINUTE_MS
    assert.equal((await edge.get(expiring, '/a.txt')).status, 410)
    assert.equal((await edge.get(locked, '/a.txt')).status, 401)
  })

  test('other errors are logged and cause a 500', async () => {
    const slug = await edge.publish({ 'a.txt': 'a' })
    edge.store.delayRead = () => Promise.reject(new Error('a bug'))
    assert.equal((await edge.get(slug, '/a.txt')).status, 500)
    assert.match(String(edge.logged.at(-1)?.fields.error), /a bug/)
    edge.store.delayRead = () => undefined
    assert.equal((await edge.get(slug, '/a.txt')).status, 200)
  })
})

test('a name whose primary name shows another site shows its own', async () => {
  const [one, two] = [await edge.publish({ 'a.txt': 'one' }), await edge.publish({ 'a.txt': 'two' })]
  const [primary, www] = ['parted.example.org', 'www.parted.example.org']
  await edge.addDomain(primary, two, { accountId: 'an account' })
  await edge.addDomain(www, one, { accountId: 'an account', primaryDomain: primary })
  assert.equal((await edge.request(www, '/a.txt')).text, 'one')
})
