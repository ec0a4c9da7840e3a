import assert from 'node:assert/strict'
import { once } from 'node:events'
import { before, describe, test } from 'node:test'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { CODE, TYPE } from '../../packages/http-server/http2/frame.ts'
import { CLIENT_PREFACE, frame, getFrame, RawClient, uint32 } from '../http2/raw-client.ts'
import { giveDomain } from '../proxies/active-domain.ts'
import { pluck } from '../support/pluck.ts'
import { startForAllTests } from '../support/started-fixture.ts'
import { SITES } from '../tls/secure-service.ts'
import { CountedService, type Reply, summarize, type VisitRequest, WAYS } from './counted-service.ts'

const PAGE = '<!doctype html><title>A page</title>'
const STYLE = 'a { color: red }'
const LOST = '<!doctype html><title>Lost</title>'

const FILES = {
  'index.html': PAGE,
  'page.html': PAGE,
  'café.html': PAGE,
  'style.css': STYLE,
  '404.html': LOST,
  _redirects: '/old /page 301\n/app/* /page.html 200\n/removed /page.html 404\n',
}

/** Number of concurrent requests of a client. */
const BLOCK = 50

const one = { requests: 1, bytes: 0, visitors: 0 }
const page = { ...one, bytes: PAGE.length, visitors: 1 }
const pageAt = (path: string) => ({ ...page, paths: { [path]: 1 } })
const missing = (path: string) => ({ ...one, bytes: LOST.length, missing: { [path]: 1 } })

const CASES: [what: string, request: VisitRequest, status: number, counted: object][] = [
  ['a page', {}, 200, pageAt('/')],
  ['a page without its .html and with a query', { path: '/page?from=mail&x=/y' }, 200, pageAt('/page')],
  ['a HEAD request, without a visitor', { method: 'HEAD' }, 200, { ...one, paths: { '/': 1 } }],
  [
    'a range of a page',
    { path: '/page.html', headers: { Range: 'bytes=0-9' } },
    206,
    { ...page, bytes: 10, paths: { '/page.html': 1 } },
  ],
  [
    'a style sheet, without a visitor',
    { path: '/style.css' },
    200,
    { ...one, bytes: STYLE.length, paths: { '/style.css': 1 } },
  ],
  ['a path with an encoded letter', { path: '/caf%C3%A9.html' }, 200, pageAt('/café.html')],
  ['the same path with other letters encoded', { path: '/%63af%c3%a9.html' }, 200, pageAt('/café.html')],
  ['a path that a rule rewrites, as requested', { path: '/app/settings' }, 200, pageAt('/app/settings')],
  ['a path that is missing', { path: '/wp-login.php?x=1' }, 404, missing('/wp-login.php')],
  [
    'a path that a rule makes a 404',
    { path: '/removed' },
    404,
    { ...one, bytes: PAGE.length, missing: { '/removed': 1 } },
  ],
  ['a redirect, in the totals only', { path: '/old' }, 301, one],
  ['a path with a bidirectional override, encoded', { path: '/a%E2%80%AEb' }, 404, missing('/a%E2%80%AEb')],
  [
    'encoded slashes, as requested',
    { path: '/..%2f..%2Fetc%2fpasswd' },
    404,
    missing('/..%2F..%2Fetc%2Fpasswd'),
  ],
  ['a null byte, encoded', { path: '/a%00b' }, 404, missing('/a%00b')],
]

const REFERRERS: [what: string, referer: (slug: string) => string, referrers?: Record<string, number>][] = [
  [
    'another host, without its path and port and in lower case',
    () => 'https://WWW.Search.example:8443/find?q=secret',
    { 'www.search.example': 1 },
  ],
  ['the host behind a name and a password', () => 'http://user:hush@blog.example/', { 'blog.example': 1 }],
  ['the site itself', (slug) => `https://${slug}.${SITES}/page`],
  ['a version of the site', (slug) => `https://01hzy3m8q5v6w7x8y9z0a1b2c3--${slug}.${SITES}/`],
  ['another site', () => `https://calm-brook-abc234.${SITES}/`, { [`calm-brook-abc234.${SITES}`]: 1 }],
  ['a URL that is not HTTP', () => 'android-app://com.example/'],
  ['nonsense', () => 'https://<script>/'],
  ['a host that is too long', () => `https://${'a'.repeat(101)}.example/`],
]

describe('visits are counted', () => {
  const service = startForAllTests(() => CountedService.start())

  test('without the hosts of a renamed site as referrers', async () => {
    const { slug } = await service.publish(FILES)
    await service.owner.renameSite(slug, 'renamed-bakery')
    const headers = { Referer: REFERRERS[3]![1]('renamed-bakery') }
    await service.sendRequest(WAYS[0], 'renamed-bakery', { headers })
    const { referrers, totals } = await service.visits('renamed-bakery')
    assert.deepEqual([referrers, totals.requests], [[], 1])
  })

  for (const way of WAYS) {
    describe(`by ${way}`, () => {
      let slug: string
      before(async () => {
        slug = (await service.publish(FILES)).slug
      })

      for (const [number, [what, request, status, counted]] of CASES.entries())
        test(what, async () => {
          const headers = { 'User-Agent': `Browser ${number}`, ...request.headers }
          const before = summarize(await service.visits(slug))
          const reply = await service.sendRequest(way, slug, { ...request, headers })
          assert.equal(reply.status, status)
          assert.deepEqual(added(before, summarize(await service.visits(slug))), counted)
        })

      // One reader of the header serves all ways.
      for (const [what, referer, expected] of way === WAYS[0] ? REFERRERS : REFERRERS.slice(0, 1))
        test(`with the referrer of ${what}`, async () => {
          const before = summarize(await service.visits(slug))
          const headers = { Referer: referer(slug) }
          await service.sendRequest(way, slug, { headers })
          await service.sendRequest(way, slug, { path: '/style.css', headers })
          assert.deepEqual(added(before, summarize(await service.visits(slug))).referrers, expected)
        })
    })

    test(`by ${way}: a page that is cached by the browser, without bytes`, async () => {
      const { slug } = await service.publish(FILES)
      const { etag } = await service.sendRequest(way, slug, { method: 'HEAD' })
      const reply = await service.sendRequest(way, slug, { headers: { 'If-None-Match': etag } })
      assert.equal(reply.status, 304)
      assert.deepEqual(summarize(await service.visits(slug)), {
        requests: 2,
        bytes: 0,
        visitors: 1,
        paths: { '/': 2 },
      })
    })

    test(`by ${way}: a file in the encoding in which it was sent`, async () => {
      const { slug } = await service.publish({ 'index.html': 'word '.repeat(1000) })
      await service.secure.running.service.precompressor.onIdle()
      const { bytes } = await service.sendRequest(way, slug, { headers: { 'Accept-Encoding': 'gzip' } })
      assert.ok(bytes < 1000)
      assert.equal((await service.visits(slug)).totals.bytes, bytes)
    })

    test(`by ${way}: but not for previews, other hosts, challenges and passwords`, async () => {
      const { slug, versionId } = await service.publish(FILES)
      const { slug: locked } = await service.publish(FILES)
      await service.owner.setMetadata(locked, { password: 'secret' })
      const requests: [number, Promise<Reply>][] = [
        [200, service.sendRequest(way, slug, { host: `${versionId}--${slug}.${SITES}` })],
        [404, service.sendRequest(way, slug, { host: `calm-brook-abc234.${SITES}` })],
        [404, service.sendRequest(way, slug, { path: '/.well-known/acme-challenge/token' })],
        [405, service.sendRequest(way, slug, { method: 'DELETE' })],
        [401, service.sendRequest(way, locked)],
        [404, service.sendRequest(way, locked, { path: '/.well-known/acme-challenge/token' })],
      ]
      for (const [index, [status, reply]] of requests.entries())
        if (index !== 2 && index !== 5) assert.equal((await reply).status, status)
      await Promise.all(requests.map(([, reply]) => reply))
      for (const one of [slug, locked])
        assert.deepEqual(summarize(await service.visits(one)), { requests: 0, bytes: 0, visitors: 0 })
    })

    test(`by ${way}, with one visitor per browser, address and day`, async () => {
      const { slug } = await service.publish(FILES)
      const visit = (agent: string) => service.sendRequest(way, slug, { headers: { 'User-Agent': agent } })
      for (const agent of ['Firefox', 'Firefox', 'Chrome', 'Firefox']) await visit(agent)
      assert.equal((await service.visits(slug)).totals.visitors, 2)
      service.clock.now += 86_400_000
      await visit('Firefox')
      const { totals, series } = await service.visits(slug)
      assert.equal(totals.visitors, 3)
      assert.deepEqual(pluck(series.slice(-2), 'visitors'), [2, 1])
    })
  }

  test('with programs as requests, not as visitors', async () => {
    const { slug } = await service.publish(FILES)
    const agents: [agent: string, visitors: number][] = [
      ['Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)', 0],
      ['Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)', 0],
      ['WhatsApp/2.23.20.0 A', 0],
      ['curl/8.5.0', 0],
      ['python-requests/2.31.0', 0],
      ['Go-http-client/1.1', 0],
      ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/140.0.0.0 Safari/537.36', 0],
      [
        'Mozilla/5.0 (Linux; Android 14; CUBOT X90) AppleWebKit/537.36 Chrome/140.0.0.0 Mobile Safari/537.36',
        1,
      ],
      [
        'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/26.0 Safari/605.1.15',
        1,
      ],
    ]
    for (const [agent] of agents)
      await service.sendRequest(WAYS[0], slug, {
        headers: { 'User-Agent': agent, Referer: 'https://news.example/' },
      })
    const { totals, referrers } = await service.visits(slug)
    const people = agents.reduce((sum, [, visitors]) => sum + visitors, 0)
    assert.deepEqual([totals.visitors, totals.requests], [people, agents.length])
    assert.deepEqual(referrers, [{ name: 'news.example', requests: people }])
  })

  test('with pages and other files in lists of their own', async () => {
    const { slug } = await service.publish({ ...FILES, 'app.css': 'a {}', 'v1.2/index.html': 'v' })
    for (const path of ['/', '/app.css', '/app.css', '/v1.2/', '/v1.2/index.html'])
      await service.sendRequest(WAYS[0], slug, { path })
    const { topPages, topFiles, topPaths } = await service.visits(slug)
    assert.deepEqual(pluck(topPages, 'name'), ['/', '/v1.2/', '/v1.2/index.html'])
    assert.deepEqual(topFiles, [{ name: '/app.css', requests: 2 }])
    assert.equal(topPaths.length, 4)
  })

  for (const way of WAYS) {
    test(`by ${way}: a response that several sites share, for the requested site`, async () => {
      const [one, other] = [
        await service.publish({ 'a.html': PAGE }),
        await service.publish({ 'a.html': PAGE }),
      ]
      for (const { slug } of [one, other, one, one, other])
        await service.sendRequest(way, slug, { path: '/none' })
      assert.deepEqual(summarize(await service.visits(one.slug)).missing, { '/none': 3 })
      assert.deepEqual(summarize(await service.visits(other.slug)).missing, { '/none': 2 })
    })
  }

  test('on a custom domain for its site, which is not its own referrer', async () => {
    const { slug } = await service.publish(FILES)
    await giveDomain(service.secure.running, slug, 'www.example.test')
    await service.secure.certify('www.example.test')
    const headers = { Referer: 'https://www.example.test/page' }
    for (const way of WAYS) {
      await service.sendRequest(way, slug, { host: 'www.example.test', headers })
      await service.sendRequest(way, slug, { headers })
    }
    assert.deepEqual(summarize(await service.visits(slug)), {
      requests: 6,
      bytes: 6 * PAGE.length,
      visitors: 1,
      paths: { '/': 6 },
    })
  })

  test('once for a visitor that is redirected to HTTPS', async () => {
    const { slug } = await service.publish(FILES)
    const { status } = await service.secure.plain(`${slug}.${SITES}`)
    assert.equal(status, 308)
    assert.equal((await service.visits(slug)).totals.requests, 0)
  })

  test('but not for a request that was cancelled before its response', async () => {
    const { slug } = await service.publish({ ...FILES, 'large.bin': 'x'.repeat(300_000) })
    const host = `${slug}.${SITES}`
    const client = new RawClient(await service.secure.handshake(host, { ALPNProtocols: ['h2'] }))
    client.send(CLIENT_PREFACE, frame(TYPE.windowUpdate, 0, 0, uint32(2 ** 24)), getFrame(1, host))
    await client.ended(1)
    for (let stream = 3; stream < 103; stream += 2) {
      client.send(getFrame(stream, host, '/large.bin'))
      await turnOfTheLoop()
      client.send(frame(TYPE.reset, 0, stream, uint32(CODE.cancel)))
    }
    client.send(getFrame(103, host, '/style.css'))
    await client.ended(103)
    await service.sendRequest('HTTP/2', slug, { path: '/large.bin' })
    const begun = client.received.filter(({ type, stream }) => type === TYPE.headers && stream % 102 !== 1)
    const paths = { '/': 1, '/style.css': 1, '/large.bin': 1 + begun.length }
    assert.deepEqual(summarize(await service.visits(slug)).paths, paths)
    client.socket.destroy()
  })

  test('by requested path in a single-page application', async () => {
    const { slug } = await service.publish({ 'index.html': PAGE })
    await service.owner.setMetadata(slug, { spaMode: true })
    for (const path of ['/inbox', '/inbox', '/inbox/7'])
      await service.sendRequest('the fast path', slug, { path, headers: { Accept: 'text/html' } })
    assert.deepEqual(summarize(await service.visits(slug)).paths, { '/inbox': 2, '/inbox/7': 1 })
  })

  test('completely for many concurrent requests on one connection, while paths appear and disappear', async () => {
    const sites = await Promise.all([FILES, FILES, FILES].map((files) => service.publish(files)))
    const paths = ['/', '/page', '/style.css', '/old', '/none', '/none/2', '/app/a', '/app/b']
    const wanted = sites.map(() => new Map<string, number>())
    const socket = await service.connect(sites[0]!.slug)
    const text: string[] = []
    for (let number = 0; number < 1200; number++) {
      const site = (number * 7) % 3 === 0 ? 0 : number % 3
      const path = paths[Math.floor(number / 5) % 2 === 0 ? 0 : (number * 13) % paths.length]!
      const { slug } = sites[site]!
      wanted[site]!.set(path, (wanted[site]!.get(path) ?? 0) + 1)
      const agent = number % 40 === 34 ? 'curl' : number % 40 < 30 ? 'One' : 'Other'
      text.push(`GET ${path} HTTP/1.1\r\nHost: ${slug}.${SITES}\r\nUser-Agent: ${agent}\r\n\r\n`)
    }
    let received = ''
    socket.on('data', (bytes: Buffer) => {
      received += bytes.toString('latin1')
    })
    const statuses = () => [...received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status)
    for (let at = 0; at < text.length; at += BLOCK) {
      socket.write(text.slice(at, at + BLOCK).join(''))
      while (statuses().length < at + BLOCK) await once(socket, 'data')
    }
    socket.destroy()
    assert.deepEqual(new Set(statuses()), new Set(['200', '301', '404']))
    for (const [index, { slug }] of sites.entries()) {
      const { paths: found, missing, requests, visitors } = summarize(await service.visits(slug))
      const { '/old': redirects = 0, ...named } = Object.fromEntries(wanted[index]!)
      assert.deepEqual({ ...found, ...missing }, named)
      const sum = Object.values(named).reduce((all, count) => all + count, redirects)
      assert.deepEqual({ requests, visitors }, { requests: sum, visitors: 2 })
    }
  })
})

type Counts = { [name: string]: number | Counts | undefined }

/** What was counted in between, without names that were not requested. */
function added(before: Counts, after: Counts): Counts {
  const counts: Counts = {}
  for (const [name, value] of Object.entries(after)) {
    const earlier = before[name]
    if (typeof value === 'number') counts[name] = value - Number(earlier ?? 0)
    else counts[name] = withoutZeros(added((earlier ?? {}) as Counts, value ?? {}))
    if (counts[name] === undefined) delete counts[name]
  }
  return counts
}

function withoutZeros(counts: Counts): Counts | undefined {
  const requested = Object.entries(counts).filter(([, count]) => count !== 0)
  return requested.length > 0 ? Object.fromEntries(requested) : undefined
}
