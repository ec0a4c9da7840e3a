import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Metrics } from '../../server/lib/metrics.ts'
import { MissLimiter } from '../../server/lib/miss-limiter.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../server/lib/time.ts'
import { EdgeFixture } from './fixture.ts'

const TOKEN_PATH = '/.well-known/acme-challenge/'

describe('a flood of names that do not exist', () => {
  const edge = EdgeFixture.shared()
  const hosts: Record<string, (number: number) => { host: string; path: string }> = {
    'names of sites': (number) => ({ host: edge.host(`no-site-${number}`), path: '/' }),
    'names of versions': (number) => ({
      host: edge.host(`${String(number).padStart(26, '0')}--no-site-${number}`),
      path: '/',
    }),
    domains: (number) => ({ host: `no-${number}.example.org`, path: '/' }),
  }
  let run = 0
  beforeEach(() => {
    // Later than the limits of the test before need to recover.
    edge.clock.now += MINUTE_MS
    edge.address = '192.0.2.1'
    edge.store.reads = 0
    run += 100_000
  })

  async function flood({ host, path }: { host: string; path: string }): Promise<number> {
    return (await edge.request(host, path)).status
  }

  for (const [title, name] of Object.entries(hosts)) {
    test(`costs one network 100 lookups, then 50 a second: ${title}`, async () => {
      const statuses: number[] = []
      for (let number = run; number < run + 150; number++) statuses.push(await flood(name(number)))
      assert.ok(edge.store.reads <= 101, `${edge.store.reads} reads`)
      assert.deepEqual(new Set(statuses), new Set([404, 503]))
      edge.clock.now += SECOND_MS
      edge.store.reads = 0
      for (let number = run + 150; number < run + 250; number++) await flood(name(number))
      assert.ok(edge.store.reads <= 51, `${edge.store.reads} reads after a second`)
    })
  }

  test('costs 200 lookups from several networks, and from more of them 10 each', async () => {
    for (const [networks, names, reads] of [
      [10, 25, 200],
      [30, 12, 300],
    ] as const) {
      edge.clock.now += MINUTE_MS
      edge.store.reads = 0
      for (let number = 0; number < names * networks; number++) {
        edge.address = `198.51.${number % networks}.1`
        await flood(hosts.domains!(run++))
      }
      assert.equal(edge.store.reads, reads)
    }
  })

  test('from any other networks does not delay the first visits of sites that this node has not loaded', async () => {
    const other = await EdgeFixture.start({ folder: edge.folder })
    await using _ = other
    const slugs: string[] = []
    while (slugs.length < 20) slugs.push(await edge.publish({ 'a.txt': 'a' }))
    for (let number = 0; number < 300; number++) {
      other.address = `192.0.2.${1 + (number % 3)}`
      await other.request(`no-${run++}.example.org`, '/')
    }
    for (const [index, slug] of slugs.entries()) {
      other.address = `198.51.100.${index % 2}`
      assert.equal((await other.get(slug, '/a.txt')).status, 200, `site ${index}`)
    }
  })

  test('in the questions of a proxy for certificates does not delay the answer for a domain', async () => {
    const other = await EdgeFixture.start({ folder: edge.folder })
    await using _ = other
    await edge.addDomain('new.example.org', await edge.publish({ 'a.txt': 'a' }))
    for (let number = 0; number < 400; number++)
      assert.equal(await other.edge.mayHaveCertificate(`no-${run++}.example.org`), false)
    assert.equal(await other.edge.mayHaveCertificate('new.example.org'), true)
  })

  test('does not delay sites that this node knows, for any visitor', async () => {
    const [warm, changed] = [await edge.publish({ 'a.txt': 'a' }), await edge.publish({ 'a.txt': 'a' })]
    for (const slug of [warm, changed]) await edge.get(slug, '/a.txt')
    for (let number = run; number < run + 400; number++) {
      edge.address = `198.51.${number % 40}.1`
      await flood(hosts['names of sites']!(number))
    }
    await edge.setPassword(changed, 'secret')
    const fresh = await edge.publish({ 'a.txt': 'a' })
    assert.equal((await edge.get(warm, '/a.txt')).status, 200)
    assert.equal((await edge.get(changed, '/a.txt')).status, 401)
    assert.equal((await edge.get(fresh, '/a.txt')).status, 200, 'a change of it was notified')
  })

  test('of tokens reads the challenges a few times, and never delays a validation', async () => {
    const host = 'issued.example.org'
    // Uses up the lookups of all networks.
    for (let number = run; number < run + 300; number++) {
      edge.address = `198.51.${number % 5}.1`
      await flood(hosts.domains!(number))
    }
    await edge.store.real.write('durable', {}, (tx) =>
      tx.rows.put('acme_challenges', {
        type: 'http-01',
        name: host,
        token: 'real',
        keyAuthorization: 'real.key',
        expiresAt: edge.clock.now + HOUR_MS,
      }),
    )
    edge.store.reads = 0
    const guesses = Array.from({ length: 100 }, (_, number) =>
      edge.request(host, `${TOKEN_PATH}guess-${run + number}`),
    )
    assert.equal((await edge.request(host, `${TOKEN_PATH}real`)).text, 'real.key')
    for (const { status } of await Promise.all(guesses)) assert.ok(status === 404 || status === 503)
    assert.ok(edge.store.reads < 50, `${edge.store.reads} reads`)
    edge.store.reads = 0
    assert.equal((await edge.request(host, `${TOKEN_PATH}real`)).text, 'real.key')
    await edge.request(host, `${TOKEN_PATH}${'x'.repeat(201)}`)
    assert.equal(edge.store.reads, 0)
  })
})

test('a lookup that finds something is not counted, however many', async () => {
  const limiter = new MissLimiter({ clock: () => 0, metrics: new Metrics() })
  const found = async () => 'found'
  for (let number = 0; number < 1000; number++)
    assert.equal(await limiter.run(`site-${number}`, '192.0.2.1', found, () => false), 'found')
})

test('eight lookups of networks that look up little run at the same time while the total is used up', async () => {
  const limiter = new MissLimiter({ clock: () => 0, metrics: new Metrics() })
  for (let number = 0; number < 200; number++) limiter.count(`192.0.2.${number % 2}`)
  let [running, most] = [0, 0]
  const lookUp = async () => {
    most = Math.max(most, ++running)
    await nextTurn()
    running--
  }
  const lookups = Array.from({ length: 20 }, (_, number) =>
    limiter.run(`site-${number}`, `198.51.100.${number}`, lookUp, () => true),
  )
  await Promise.all(lookups)
  assert.equal(most, 8)
})
