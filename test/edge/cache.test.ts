import assert from 'node:assert/strict'
import { StatementSync } from 'node:sqlite'
import { beforeEach, describe, type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { CircuitBreaker } from '../../server/lib/circuit-breaker.ts'
import { ApiError } from '../../server/lib/errors.ts'
import { LoadingCache } from '../../server/lib/loading-cache.ts'
import { MemoryBudget } from '../../server/lib/second-chance-cache.ts'
import { MINUTE_MS } from '../../server/lib/time.ts'
import { makeBreaker } from '../support/lookup-limits.ts'
import { numbers } from '../support/random.ts'
import { assertColdVisits } from './cold-visits.ts'
import { EdgeFixture, gate, noise } from './fixture.ts'

const edge = EdgeFixture.shared()
beforeEach(() => {
  edge.store.unavailable = false
  edge.store.silenceMs = () => 0
  // Changes are notified again, which closes the breaker.
  edge.clock.now++
  edge.store.delayRead = () => undefined
})

function recordSqlite(t: TestContext): string[] {
  const statements: string[] = []
  const { all } = StatementSync.prototype
  t.mock.method(
    StatementSync.prototype,
    'all',
    function (this: StatementSync, ...given: Parameters<typeof all>) {
      statements.push(this.sourceSQL)
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

  test('reads once after a change', async () => {
    const slug = await edge.publish({ 'index.html': 'one' })
    await edge.get(slug)
    await edge.createVersion(slug, { 'index.html': 'two' })
    assert.equal(await reads(async () => assert.equal((await edge.get(slug)).text, 'two')), 1)
    assert.equal(await reads(() => edge.get(slug)), 0)
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

describe('uncached visits', () => {
  test('are one statement each, and two for a domain that redirects to another one', (t) =>
    assertColdVisits(edge, recordSqlite, t))

  test('of one host share one read when concurrent', async () => {
    const slug = await edge.publish({ 'index.html': 'x' })
    const count = await reads(async () => {
      const replies = await Promise.all(Array.from({ length: 50 }, () => edge.get(slug)))
      assert.ok(replies.every((reply) => reply.text === 'x'))
    })
    assert.equal(count, 1)
  })

  test('read a small file once, however many are concurrent', async () => {
    const slug = await edge.publish({ 'small.bin': noise(10_000) })
    const { bytes } = edge.blobs
    let read = 0
    edge.blobs.bytes = (location) => {
      read++
      return bytes(location)
    }
    await Promise.all(Array.from({ length: 50 }, () => edge.get(slug, '/small.bin')))
    edge.blobs.bytes = bytes
    assert.equal(read, 1)
  })
})

describe('a change during the read of a site', () => {
  test('is visible to requests after it, and stays visible', async () => {
    const slug = await edge.publish({ 'index.html': 'old' })
    const [{ open, opened }, reached] = [gate(), gate()]
    duringRead('serving.findSite', () => {
      reached.open()
      return opened
    })
    const early = edge.get(slug)
    await reached.opened
    await edge.createVersion(slug, { 'index.html': 'new' })
    assert.equal((await edge.get(slug)).text, 'new')
    open()
    assert.equal((await early).status, 200)
    assert.equal(await reads(async () => assert.equal((await edge.get(slug)).text, 'new')), 0)
  })

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

  test('makes a new slug visible immediately', async () => {
    const slug = 'made-just-now'
    assert.equal((await edge.get(slug)).status, 404)
    await edge.publish({ 'index.html': 'here' }, { slug })
    assert.equal((await edge.get(slug)).text, 'here')
  })
})

test('a change of another process is visible as soon as the store is notified', async () => {
  const other = await EdgeFixture.start({ folder: edge.folder })
  await using _ = other
  const slug = await edge.publish({ 'index.html': 'one' })
  assert.equal((await other.get(slug)).text, 'one')
  await edge.createVersion(slug, { 'index.html': 'two' })
  await other.store.real.pollChanges()
  assert.equal((await other.get(slug)).text, 'two')
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

  test('invalidated entries are used, and reloaded when the store is available', async () => {
    const expiresAt = edge.clock.now + 60_000
    const slug = await edge.publish({ 'a.txt': 'old' }, { expiresAt })
    const draft = await edge.createVersion(slug, { 'a.txt': 'draft' }, { live: false })
    const host = 'doubt.example.org'
    await edge.addDomain(host, slug)
    const all = async () => [
      (await edge.get(slug, '/a.txt')).text,
      (await edge.get(`${draft}--${slug}`, '/a.txt')).text,
      (await edge.request(host, '/a.txt')).text,
    ]
    assert.deepEqual(await all(), ['old', 'draft', 'old'])
    edge.store.unavailable = true
    edge.edge.invalidate(undefined)
    assert.deepEqual(await all(), ['old', 'draft', 'old'])
    assert.equal(await reads(all), 0, 'an unavailable store is not read on every visit')
    edge.clock.now += 1000
    assert.ok((await reads(all)) > 0, 'it is read sometimes')
    edge.store.unavailable = false
    await edge.store.real.write('durable', {}, (tx) =>
      tx.sites.update(slug, { expiresAt: edge.clock.now + 1 }),
    )
    edge.edge.invalidate(undefined)
    assert.deepEqual(await all(), ['old', 'draft', 'old'])
    edge.clock.now += 1
    assert.equal((await edge.get(slug, '/a.txt')).status, 410, 'the new expiry is loaded')
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

  test('sites that are not cached get 503 immediately while the breaker is open', async () => {
    const slugs = await Promise.all(['a', 'b', 'c'].map((text) => edge.publish({ 'a.txt': text })))
    beSilent()
    edge.store.unavailable = true
    edge.clock.now += MINUTE_MS
    const statuses = async () =>
      Promise.all(slugs.map(async (slug) => (await edge.get(slug, '/a.txt')).status))
    assert.equal(await reads(async () => assert.deepEqual(await statuses(), [503, 503, 503])), 1)
    assert.equal(await reads(async () => assert.deepEqual(await statuses(), [503, 503, 503])), 0)
    edge.clock.now += 1000
    edge.store.unavailable = false
    assert.equal((await edge.get(slugs[0]!, '/a.txt')).status, 200, 'the lookup of each second succeeds')
    assert.deepEqual(await statuses(), [200, 200, 200])
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

interface Loaded {
  version: number
  owner?: Loaded | undefined
  bytes?: number
  isNegative?: boolean
}

type Load = (key: string, getOwner: (key: string) => Promise<Loaded>) => Promise<Loaded>

const time = { now: 0 }

function makeCache(
  load: Load,
  limit = 100_000,
  breaker = makeBreaker({ clock: () => time.now }),
): LoadingCache<Loaded> {
  return new LoadingCache<Loaded>({
    load,
    bytes: ({ bytes = 100 }) => bytes,
    isNegative: ({ isNegative = false }) => isNegative,
    budget: new MemoryBudget(limit),
    breaker,
  })
}

/** A cache in which `a.site` belongs to `site`; `before` and `after` run around the load of the owner. */
function makeOwned({
  before = async () => {},
  after = () => {},
  loadSite = (): Loaded => ({ version: 0 }),
  limit = 100_000,
  breaker,
}: {
  before?: () => Promise<unknown>
  after?: () => void
  loadSite?: () => Loaded
  limit?: number
  breaker?: CircuitBreaker
} = {}): LoadingCache<Loaded> {
  return makeCache(
    async (key, getOwner) => {
      if (!key.includes('.')) return loadSite()
      await before()
      const owner = await getOwner(key.slice(key.indexOf('.') + 1))
      after()
      return { version: 0, owner }
    },
    limit,
    breaker,
  )
}

describe('while the source does not notify of changes', () => {
  /** A cache with `count` entries, and a source whose loads wait for `answer`. */
  async function makeSilent(count: number) {
    const state = { isSilent: false, loads: 0, version: 0, error: undefined as unknown }
    let { open: answer, opened: answered } = gate()
    answer()
    const breaker = makeBreaker({
      clock: () => time.now,
      silenceMs: () => (state.isSilent ? 1000 : 0),
    })
    const cache = makeCache(
      async () => {
        state.loads++
        await answered
        if (state.error) throw state.error
        return { version: state.version }
      },
      1_000_000,
      breaker,
    )
    const keys = Array.from({ length: count }, (_, index) => `${index}`)
    await Promise.all(keys.map((key) => cache.get(key)))
    state.isSilent = true
    state.loads = 0
    time.now += MINUTE_MS
    const hold = () => {
      ;({ open: answer, opened: answered } = gate())
    }
    return { cache, breaker, keys, state, hold, answer: () => answer() }
  }
  const versions = (loaded: readonly Loaded[]) => [...new Set(loaded.map(({ version }) => version))]

  test('entries are loaded again at most once in nine tenths of a second', async () => {
    const { cache, state, keys } = await makeSilent(5)
    state.version = 1
    assert.deepEqual(versions(await Promise.all(keys.map((key) => cache.get(key)))), [1])
    assert.equal(state.loads, 5)
    time.now += 899
    assert.ok(keys.every((key) => cache.peek(key)))
    time.now += 1
    assert.ok(keys.every((key) => !cache.peek(key)))
  })

  test('32 entries are loaded at a time, and others are served as they are', async () => {
    const { cache, breaker, state, keys, hold, answer } = await makeSilent(100)
    hold()
    state.version = 1
    const all = keys.map((key) => cache.get(key))
    assert.deepEqual(versions(await Promise.all(all.slice(32))), [0])
    assert.equal(state.loads, 32)
    assert.equal(breaker.staleHits, 68)
    answer()
    assert.deepEqual(versions(await Promise.all(all.slice(0, 32))), [1])
  })

  test('a request waits a tenth of a second for a slow load and gets the old value', async (t) => {
    const { cache, state, hold, answer } = await makeSilent(1)
    t.mock.timers.enable({ apis: ['setTimeout'] })
    hold()
    state.version = 1
    const requests = [cache.get('0'), cache.get('0')]
    let isOver = false
    void Promise.race(requests).then(() => {
      isOver = true
    })
    t.mock.timers.tick(99)
    await setImmediate()
    assert.ok(!isOver)
    t.mock.timers.tick(1)
    await setImmediate()
    assert.ok(isOver)
    assert.deepEqual(versions(await Promise.all(requests)), [0])
    assert.equal((await cache.get('0')).version, 0, 'a later request of that load does not wait')
    answer()
    await setImmediate()
    assert.equal((await cache.get('0')).version, 1)
    assert.equal(state.loads, 1)
  })

  test('an entry that changes during the wait is not served as it was', async (t) => {
    const { cache, state, hold, answer } = await makeSilent(1)
    t.mock.timers.enable({ apis: ['setTimeout'] })
    hold()
    const request = cache.get('0')
    state.version = 1
    cache.invalidate('0')
    t.mock.timers.tick(100)
    await setImmediate()
    answer()
    assert.equal((await request).version, 1)
  })

  test('a failed load lets one load a second through, and nothing waits for it', async () => {
    const { cache, breaker, state, keys } = await makeSilent(50)
    state.error = new ApiError('UNAVAILABLE', 'away')
    const visit = () => keys.map((key) => cache.peek(key) ?? cache.get(key))
    await cache.get('0')
    assert.ok(breaker.isBlocking())
    for (const seconds of [0, 1, 2]) {
      state.loads = 0
      const waiting = visit().filter((one) => one instanceof Promise)
      assert.equal(waiting.length, seconds === 0 ? 0 : 1)
      assert.deepEqual(versions(await Promise.all(waiting)), seconds === 0 ? [] : [0])
      assert.equal(state.loads, waiting.length)
      await assert.rejects(cache.get('cold'), { code: 'UNAVAILABLE' })
      assert.equal(state.loads, waiting.length)
      // Notified of nothing, a node is marked stale by each failed poll of an earlier release.
      cache.markStale()
      time.now += 1000
    }
    state.error = undefined
    state.isSilent = false
    state.loads = 0
    await Promise.all(visit())
    assert.equal(state.loads, 32, 'after a missed interval entries are loaded as they are requested')
  })
})

describe('after changes that may have been missed', () => {
  async function makeStale() {
    const state = { error: undefined as unknown }
    const cache = makeCache(async () => {
      if (state.error) throw state.error
      return { version: 0 }
    })
    await cache.get('site')
    cache.markStale()
    return { cache, state }
  }

  test('entries are used for an hour without the source, also when more changes may have been missed', async () => {
    const { cache, state } = await makeStale()
    state.error = new ApiError('UNAVAILABLE', 'away')
    for (let minutes = 0; minutes < 60; minutes += 10) {
      assert.ok(await cache.get('site'), `after ${minutes} minutes`)
      time.now += 10 * MINUTE_MS
      cache.markStale()
    }
    await assert.rejects(cache.get('site'), { code: 'UNAVAILABLE' })
    state.error = undefined
    assert.ok(await cache.get('site'))
  })

  test('an entry is not used when the source was reached, but its load failed', async () => {
    const { cache, state } = await makeStale()
    state.error = new ApiError('UNAVAILABLE', 'a file cannot be read', { isIsolated: true })
    await assert.rejects(cache.get('site'), { code: 'UNAVAILABLE' })
  })
})

describe('the cache', () => {
  test('is not flooded by unknown names: they evict nothing and are limited', async () => {
    const cache = makeCache(async (key) => ({ version: 0, isNegative: key !== 'known' }))
    await cache.get('known')
    for (let number = 0; number < 20_000; number++) await cache.get(`unknown-${number}`)
    assert.ok(cache.peek('known'))
    assert.equal(cache.peek('unknown-0'), undefined)
    assert.ok(cache.peek('unknown-19999'))
  })

  test('refuses more than a thousand concurrent loads', async () => {
    const { open, opened } = gate()
    const cache = makeCache(async () => {
      await opened
      return { version: 0 }
    })
    const first = Array.from({ length: 1000 }, (_, index) => cache.get(`${index}`))
    await assert.rejects(cache.get('one more'), { code: 'UNAVAILABLE' })
    const shared = cache.get('0')
    cache.markStale()
    await assert.rejects(cache.get('still one more'), { code: 'UNAVAILABLE' })
    open()
    await Promise.all([...first, shared])
    assert.ok(await cache.get('one more'))
  })
})

describe('a cache entry with an owner', () => {
  test('is removed with its owner, over several levels, or without it', async () => {
    const cache = makeOwned()
    for (const key of ['b.a.site', 'a.other']) await cache.get(key)
    cache.invalidate('site')
    for (const key of ['site', 'a.site', 'b.a.site']) assert.equal(cache.peek(key), undefined, key)
    for (const key of ['other', 'a.other']) assert.ok(cache.peek(key), key)
    await cache.get('b.a.site')
    cache.invalidate('b.a.site')
    assert.ok(cache.peek('a.site'))
    assert.equal(cache.peek('b.a.site'), undefined)
  })

  test('prevents the eviction of its owner while it is used', async () => {
    const cache = makeOwned({ limit: 5000 })
    await cache.get('a.site')
    for (let number = 0; number < 100; number++) {
      assert.ok(cache.peek('a.site'))
      await cache.get(`${number}`)
    }
    assert.ok(cache.peek('site'))
    assert.equal(cache.peek('0'), undefined)
  })

  test('is not cached without its owner, which was invalidated or is too large for the cache', async () => {
    const invalidated = makeOwned({ after: () => invalidated.invalidate('site') })
    const large = makeOwned({ loadSite: () => ({ version: 0, bytes: 1_000_000 }) })
    for (const cache of [invalidated, large]) {
      await cache.get('a.site')
      assert.equal(cache.peek('a.site'), undefined)
    }
  })

  test('is as stale as its owner, and kept when that is loaded again', async () => {
    let isSilent = false
    let version = 0
    const breaker = makeBreaker({ clock: () => time.now, silenceMs: () => (isSilent ? 1000 : 0) })
    const cache = makeOwned({ loadSite: () => ({ version }), breaker })
    const domain = await cache.get('a.site')
    isSilent = true
    time.now += 1000
    assert.equal(cache.peek('a.site'), undefined)
    version = 1
    assert.equal((await cache.get('site')).version, 1)
    assert.equal(cache.peek('a.site'), undefined, 'it was not loaded again')
    isSilent = false
    assert.equal(cache.peek('a.site'), domain, 'all changes are known, and none concerns it')
    cache.invalidate('site')
    assert.equal(cache.peek('a.site'), undefined)
  })

  test('is loaded with its owners, however many are cold', async () => {
    const cache = makeOwned({ before: () => setImmediate() })
    const all = Array.from({ length: 1000 }, (_, index) => cache.get(`b.a.${index}`))
    await assert.rejects(cache.get('a.site'), { code: 'UNAVAILABLE' })
    await Promise.all(all)
    assert.ok(await cache.get('a.site'))
  })

  test('is cached though another key is invalidated during the load', async () => {
    const { open, opened } = gate()
    const cache = makeOwned({ before: () => opened })
    const load = cache.get('a.site')
    cache.invalidate('other')
    open()
    assert.equal(await load, cache.peek('a.site'))
  })

  test('is not cached when more keys are invalidated during the load than are recorded', async () => {
    const { open, opened } = gate()
    const cache = makeOwned({ before: () => opened })
    const load = cache.get('a.site')
    cache.invalidate('site')
    for (let number = 0; number < 1000; number++) cache.invalidate(`${number}`)
    const late = cache.get('a.site')
    open()
    assert.notEqual(await late, await load)
    cache.invalidate('site')
    assert.equal(cache.peek('a.site'), undefined)
  })

  test('that is a negative result leaves the cache with its key and its owners only', async () => {
    const cache = makeCache(async (key, getOwner) => {
      if (key.includes('.')) await getOwner(key.replace(/^\w+\./, ''))
      return { version: 0, isNegative: true }
    })
    for (const key of ['b.a.site', 'a.other', 'unknown']) await cache.get(key)
    cache.invalidate('site')
    for (const key of ['site', 'a.site', 'b.a.site']) assert.equal(cache.peek(key), undefined, key)
    for (const key of ['other', 'a.other', 'unknown']) assert.ok(cache.peek(key), key)
    cache.invalidate('unknown')
    assert.equal(cache.peek('unknown'), undefined)
  })

  test('that cannot be loaded is an error of its own, thrown synchronously or later', async () => {
    const cache = makeCache(() => {
      throw new Error('a bug')
    })
    for (let attempt = 0; attempt < 2; attempt++) await assert.rejects(cache.get('a.site'), /a bug/)
  })

  test('is never older than the last invalidation of its owner before the request, in any order of events', async (t) => {
    const below = numbers(t)
    const sites = ['one', 'two', 'three']
    const stored = new Map(sites.map((site) => [site, 0]))
    const pause = async () => {
      for (let turn = below(6); turn > 0; turn--) await setImmediate()
    }
    let loads = 0
    const memory = makeCache(async (key, getOwner) => {
      loads++
      const site = key.slice(key.lastIndexOf('.') + 1)
      // As with a domain: data read before its owner is known can be older than the owner.
      const version = stored.get(site)!
      await pause()
      const owner = key.includes('.') ? await getOwner(key.replace(/^\w+\./, '')) : undefined
      await pause()
      return { version, ...(owner && { owner }), isNegative: version % 3 === 1 }
    })
    let done = false
    const readers = Array.from({ length: 12 }, async () => {
      while (!done) {
        const site = sites[below(sites.length)]!
        const key = ['', 'a.', 'b.', 'c.a.'][below(4)] + site
        const least = stored.get(site)!
        const loaded = memory.peek(key) ?? (await memory.get(key))
        for (let one: Loaded | undefined = loaded; one; one = one.owner)
          assert.ok(one.version >= least, `${key} is older than ${least}`)
        await setImmediate()
      }
    })
    for (let change = 0; change < 300; change++) {
      const site = sites[below(sites.length)]!
      stored.set(site, stored.get(site)! + 1)
      memory.invalidate(site)
      await pause()
    }
    done = true
    await Promise.all(readers)
    for (const site of sites) {
      for (const key of [site, `a.${site}`]) {
        const { version, owner } = await memory.get(key)
        assert.deepEqual([version, owner?.version ?? version], [stored.get(site), stored.get(site)])
      }
    }
    const before = loads
    await Promise.all(Array.from({ length: 20 }, () => memory.get('a.one')))
    assert.equal(loads, before, 'other entries stay cached')
  })
})

test('a name whose primary name shows another site shows its own', async () => {
  const [one, two] = [await edge.publish({ 'a.txt': 'one' }), await edge.publish({ 'a.txt': 'two' })]
  const [primary, www] = ['parted.example.org', 'www.parted.example.org']
  await edge.addDomain(primary, two, { accountId: 'an account' })
  await edge.addDomain(www, one, { accountId: 'an account', primaryDomain: primary })
  assert.equal((await edge.request(www, '/a.txt')).text, 'one')
})
