import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { MemoryBudget } from '../../packages/http-server/memory/second-chance-cache.ts'
import type { CircuitBreaker } from '../../server/lib/circuit-breaker.ts'
import { ApiError } from '../../server/lib/errors.ts'
import { LoadingCache } from '../../server/lib/loading-cache.ts'
import { MINUTE_MS } from '../../server/lib/time.ts'
import { gate } from '../edge/fixture.ts'
import { makeBreaker } from '../support/lookup-limits.ts'
import { numbers } from '../support/random.ts'
import { waitFor } from '../support/wait-for.ts'

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
  onReplace = (_before: Loaded, _after: Loaded) => {},
): LoadingCache<Loaded> {
  return new LoadingCache<Loaded>({
    load,
    bytes: ({ bytes = 100 }) => bytes,
    isNegative: ({ isNegative = false }) => isNegative,
    budget: new MemoryBudget(limit),
    breaker,
    onReplace,
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
    assert.equal(state.loads, 50, 'after a missed interval entries are loaded as they are requested')
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

  test('an entry is not used while changes are notified and it is loaded again', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { open, opened } = gate()
    let version = 0
    const cache = makeCache(async () => {
      if (version > 0) await opened
      return { version }
    })
    await cache.get('site')
    cache.markStale()
    version = 1
    const request = cache.get('site')
    t.mock.timers.tick(10_000)
    await setImmediate()
    open()
    assert.equal((await request).version, 1)
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

describe('an entry that changes', () => {
  /** A cache with one entry, `key`, whose source answers until it is taken away. */
  async function makeChanged() {
    const state = { version: 0, loads: 0, isAway: false, replaced: [] as number[] }
    const breaker = makeBreaker({ clock: () => time.now })
    const load: Load = async () => {
      state.loads++
      if (state.isAway) throw new ApiError('UNAVAILABLE', 'away')
      return { version: state.version }
    }
    const cache = makeCache(load, 100_000, breaker, (before, after) => {
      state.replaced = [before.version, after.version]
    })
    await cache.get('key')
    const settled = async () => {
      do await setImmediate()
      while (breaker.reloads > 0)
    }
    return { cache, state, settled }
  }

  test('is loaded again before the next request', async () => {
    const { cache, state, settled } = await makeChanged()
    for (const effect of ['withdrawn', 'outdated', 'improvable'] as const) {
      state.version++
      cache.invalidate('key', effect)
      await settled()
      assert.equal(cache.peek('key')?.version, state.version, effect)
    }
  })

  const AFTER_A_FAILED_RELOAD = [
    ['withdrawn', 'UNAVAILABLE'],
    ['outdated', 0],
    ['improvable', 0],
  ] as const
  for (const [effect, expected] of AFTER_A_FAILED_RELOAD)
    test(`is ${expected === 0 ? 'used as it was' : 'not used'} when the source cannot be reached then: ${effect}`, async () => {
      const { cache, state, settled } = await makeChanged()
      state.isAway = true
      cache.invalidate('key', effect)
      await settled()
      const outcome = await cache.get('key').then(
        ({ version }) => version,
        ({ code }: ApiError) => code,
      )
      assert.equal(outcome, expected)
    })

  test('is improved by a later request when that failed, one attempt a second', async () => {
    const { cache, state, settled } = await makeChanged()
    state.isAway = true
    state.version = 1
    cache.invalidate('key', 'improvable')
    await settled()
    const request = async (ahead: number) => {
      time.now += ahead
      state.loads = 0
      for (let count = 0; count < 3; count++) assert.ok(cache.peek('key'))
      await settled()
      return [cache.peek('key')?.version, state.loads]
    }
    assert.deepEqual(await request(999), [0, 0])
    assert.deepEqual(await request(1), [0, 1])
    state.isAway = false
    assert.deepEqual(await request(1000), [1, 1])
    assert.deepEqual(await request(1000), [1, 0])
  })

  test('is improved by the next request when it was not used for long', async () => {
    const { cache, state, settled } = await makeChanged()
    for (state.version = 1; state.version < 20; state.version++) {
      cache.invalidate('key', 'improvable')
      await settled()
    }
    time.now += 1000
    assert.equal(cache.peek('key')?.version, 10)
    await settled()
    assert.equal(cache.peek('key')?.version, 20)
  })

  test('is loaded again ten times without a request, then once in five seconds, and immediately when it is withdrawn', async (t) => {
    const { cache, state, settled } = await makeChanged()
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const change = async (effect: 'outdated' | 'withdrawn') => {
      state.version++
      cache.invalidate('key', effect)
      await settled()
    }
    const pass = async (ms: number) => {
      t.mock.timers.tick(ms)
      await settled()
      return state.loads
    }
    for (let changes = 0; changes < 20; changes++) await change('outdated')
    assert.equal(state.loads, 1 + 10)
    assert.equal(await pass(4999), 11)
    assert.equal(await pass(1), 12)
    assert.deepEqual(state.replaced, [10, 20])
    for (let seconds = 0; seconds < 60; seconds++) {
      await change('outdated')
      await pass(1000)
    }
    assert.equal(state.loads, 12 + 12)
    await change('withdrawn')
    assert.equal(state.loads, 25)
    await change('outdated')
    await pass(5000)
    state.isAway = true
    assert.equal(cache.peek('key')?.version, state.version)
  })

  test('is loaded with at most a hundred others in five seconds when none of them is used', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const state = { version: 0, loads: 0 }
    const breaker = makeBreaker({ clock: () => time.now })
    const cache = makeCache(
      async () => ({ version: state.version, loads: ++state.loads }),
      1_000_000,
      breaker,
    )
    const keys = Array.from({ length: 250 }, (_, index) => `${index}`)
    await Promise.all(keys.map((key) => cache.get(key)))
    for (state.version = 1; state.version <= 11; state.version++) {
      state.loads = 0
      for (const key of keys) cache.invalidate(key, 'outdated')
      await waitFor(() => breaker.reloads === 0)
    }
    for (const loads of [0, 100, 200, 250, 250]) {
      assert.equal(state.loads, loads)
      t.mock.timers.tick(5000)
      await waitFor(() => breaker.reloads === 0)
    }
    assert.ok(keys.every((key) => cache.peek(key)?.version === state.version))
  })
})

describe('a cache entry with an owner', () => {
  test('is no use of its owner when it is loaded again', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    let loads = 0
    const breaker = makeBreaker({ clock: () => time.now })
    const cache = makeOwned({ loadSite: () => ({ version: loads++ }), breaker })
    for (const key of ['a.site', 'b.a.site']) await cache.get(key)
    const change = async () => {
      cache.invalidate('site', 'outdated')
      await waitFor(() => breaker.reloads === 0)
    }
    for (let changes = 0; changes < 20; changes++) await change()
    assert.equal(loads, 1 + 10)
    for (const expected of [12, 13]) {
      t.mock.timers.tick(5000)
      await waitFor(() => breaker.reloads === 0)
      if (expected === 12) await change()
      assert.equal(loads, expected)
    }
    assert.equal(cache.peek('b.a.site')?.owner?.owner?.version, 12)
  })

  test('is loaded again with its owner, also when that changes once more during the load', async () => {
    let version = 0
    let { open, opened } = gate()
    open()
    const breaker = makeBreaker({ clock: () => time.now })
    const cache = makeOwned({ before: () => opened, loadSite: () => ({ version }), breaker })
    await cache.get('a.site')
    ;({ open, opened } = gate())
    version = 1
    cache.invalidate('site')
    await waitFor(() => cache.isLoading('a.site'))
    version = 2
    cache.invalidate('site')
    open()
    await waitFor(() => breaker.reloads === 0)
    assert.equal(cache.peek('a.site')?.owner?.version, 2)
  })

  test('is improved with its owner, however many others that one owns', async () => {
    let version = 0
    const breaker = makeBreaker({ clock: () => time.now })
    const cache = makeOwned({ loadSite: () => ({ version }), limit: 1_000_000, breaker })
    const keys = Array.from({ length: 200 }, (_, index) => `${index}.site`)
    const versions = async () => {
      const found = keys.map((key) => cache.peek(key)?.owner?.version)
      await waitFor(() => breaker.reloads === 0)
      return [...new Set(found)]
    }
    for (const key of keys) await cache.get(key)
    const { run } = breaker
    breaker.run = () => Promise.reject(new ApiError('UNAVAILABLE', 'away'))
    version = 1
    cache.invalidate('site', 'improvable')
    assert.deepEqual(await versions(), [0])
    breaker.run = run
    time.now += 1000
    assert.deepEqual(await versions(), [0])
    assert.deepEqual(await versions(), [1])
  })

  test('that is a negative result is loaded again with its owner, whenever that changes, but not without end', async () => {
    const state = { loads: 0, isAway: false }
    const breaker = makeBreaker({ clock: () => time.now })
    const load: Load = async (key, getOwner) => {
      if (state.isAway) throw new ApiError('UNAVAILABLE', 'away')
      if (!key.includes('.')) return { version: 0 }
      state.loads++
      return { version: 0, owner: await getOwner('site'), isNegative: true }
    }
    const cache = makeCache(load, 100_000, breaker)
    const change = async () => {
      cache.invalidate('site')
      await waitFor(() => breaker.reloads === 0)
    }
    await cache.get('a.site')
    for (const loads of [2, 3]) {
      await change()
      assert.equal(state.loads, loads)
    }
    for (let changes = 0; changes < 20; changes++) await change()
    assert.equal(state.loads, 1 + 10)
    await cache.get('a.site')
    await change()
    state.isAway = true
    time.now += MINUTE_MS
    assert.equal((await cache.get('a.site')).isNegative, true)
  })

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
    const loads: string[] = []
    const memory = makeCache(async (key, getOwner) => {
      loads.push(key)
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
    const before = loads.length
    await Promise.all(Array.from({ length: 20 }, () => memory.get('a.one')))
    // Other keys may still be loaded again in the background.
    const again = loads.slice(before).filter((key) => ['one', 'a.one'].includes(key))
    assert.deepEqual(again, [], 'a current entry stays cached')
  })
})
