import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { CODE, TYPE } from '../../server/net/http2/frame.ts'
import { CLIENT_PREFACE, frame, getFrame, RawClient, uint32 } from '../http2/raw-client.ts'
import { giveDomain } from '../proxies/active-domain.ts'
import { SITES } from '../tls/secure-service.ts'
import { type Ask, CountedService, type Reply, summarize, WAYS } from './counted.ts'

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

interface Case {
  what: string
  ask: Ask
  status: number
  counted: object
}

/** Requests that a client has under way at once. */
const BLOCK = 50

const one = { requests: 1, bytes: 0, visitors: 0 }
const page = { ...one, bytes: PAGE.length, visitors: 1 }

const CASES: Case[] = [
  { what: 'a page', ask: {}, status: 200, counted: { ...page, paths: { '/': 1 } } },
  {
    what: 'a page without its .html and with a query',
    ask: { path: '/page?from=mail&x=/y' },
    status: 200,
    counted: { ...page, paths: { '/page': 1 } },
  },
  {
    what: 'the head of a page, which nobody reads',
    ask: { method: 'HEAD' },
    status: 200,
    counted: { ...one, paths: { '/': 1 } },
  },
  {
    what: 'a part of a page',
    ask: { path: '/page.html', headers: { Range: 'bytes=0-9' } },
    status: 206,
    counted: { ...page, bytes: 10, paths: { '/page.html': 1 } },
  },
  {
    what: 'a style sheet, which makes no visitor',
    ask: { path: '/style.css' },
    status: 200,
    counted: { ...one, bytes: STYLE.length, paths: { '/style.css': 1 } },
  },
  {
    what: 'a path in the letters in which it was published',
    ask: { path: '/caf%C3%A9.html' },
    status: 200,
    counted: { ...page, paths: { '/café.html': 1 } },
  },
  {
    what: 'the same path with other letters encoded',
    ask: { path: '/%63af%c3%a9.html' },
    status: 200,
    counted: { ...page, paths: { '/café.html': 1 } },
  },
  {
    what: 'a path that a rule leads to a page, as it was asked for',
    ask: { path: '/app/settings' },
    status: 200,
    counted: { ...page, paths: { '/app/settings': 1 } },
  },
  {
    what: 'a path that is missing',
    ask: { path: '/wp-login.php?x=1' },
    status: 404,
    counted: { ...one, bytes: LOST.length, missing: { '/wp-login.php': 1 } },
  },
  {
    what: 'a path that a rule calls missing',
    ask: { path: '/removed' },
    status: 404,
    counted: { ...one, bytes: PAGE.length, missing: { '/removed': 1 } },
  },
  { what: 'a redirect, in the totals only', ask: { path: '/old' }, status: 301, counted: one },
  {
    what: 'a name that would turn a list upside down, encoded',
    ask: { path: '/a%E2%80%AEb' },
    status: 404,
    counted: { ...one, bytes: LOST.length, missing: { '/a%E2%80%AEb': 1 } },
  },
  {
    what: 'slashes that are encoded, as they were asked for',
    ask: { path: '/..%2f..%2Fetc%2fpasswd' },
    status: 404,
    counted: { ...one, bytes: LOST.length, missing: { '/..%2F..%2Fetc%2Fpasswd': 1 } },
  },
  {
    what: 'a null byte, encoded',
    ask: { path: '/a%00b' },
    status: 404,
    counted: { ...one, bytes: LOST.length, missing: { '/a%00b': 1 } },
  },
]

const REFERRERS: {
  what: string
  referer: (slug: string) => string
  told: Record<string, number> | undefined
}[] = [
  {
    what: 'another host, without its path and port and in lower case',
    referer: () => 'https://WWW.Search.example:8443/find?q=secret',
    told: { 'www.search.example': 1 },
  },
  {
    what: 'the host behind a name and a password',
    referer: () => 'http://user:hush@blog.example/',
    told: { 'blog.example': 1 },
  },
  { what: 'the site itself', referer: (slug) => `https://${slug}.${SITES}/page`, told: undefined },
  {
    what: 'a version of the site',
    referer: (slug) => `https://01hzy3m8q5v6w7x8y9z0a1b2c3--${slug}.${SITES}/`,
    told: undefined,
  },
  {
    what: 'a neighbour',
    referer: () => `https://calm-brook-abc234.${SITES}/`,
    told: { [`calm-brook-abc234.${SITES}`]: 1 },
  },
  { what: 'no page of the web', referer: () => 'android-app://com.example/', told: undefined },
  { what: 'nonsense', referer: () => 'https://<script>/', told: undefined },
  { what: 'a host that is too long', referer: () => `https://${'a'.repeat(101)}.example/`, told: undefined },
]

describe('what is counted', () => {
  let service: CountedService
  before(async () => {
    service = await CountedService.start()
  })
  after(() => service[Symbol.asyncDispose]())

  for (const way of WAYS) {
    for (const { what, ask, status, counted } of CASES) {
      test(`by ${way}: ${what}`, async () => {
        const { slug } = await service.publish(FILES)
        const reply = await service.ask(way, slug, ask)
        assert.equal(reply.status, status)
        assert.deepEqual(summarize(await service.visits(slug)), counted)
      })
    }

    test(`by ${way}: a page that the browser has already, without bytes`, async () => {
      const { slug } = await service.publish(FILES)
      const { etag } = await service.ask(way, slug, { method: 'HEAD' })
      const reply = await service.ask(way, slug, { headers: { 'If-None-Match': etag } })
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
      const { bytes } = await service.ask(way, slug, { headers: { 'Accept-Encoding': 'gzip' } })
      assert.ok(bytes < 1000)
      assert.equal((await service.visits(slug)).totals.bytes, bytes)
    })

    test(`by ${way}: nothing of previews, other hosts, challenges and passwords`, async () => {
      const { slug, versionId } = await service.publish(FILES)
      const { slug: locked } = await service.publish(FILES)
      await service.owner.setMetadata(locked, { password: 'secret' })
      const asked: [number, Promise<Reply>][] = [
        [200, service.ask(way, slug, { host: `${versionId}--${slug}.${SITES}` })],
        [404, service.ask(way, slug, { host: `calm-brook-abc234.${SITES}` })],
        [404, service.ask(way, slug, { path: '/.well-known/acme-challenge/token' })],
        [405, service.ask(way, slug, { method: 'DELETE' })],
        [401, service.ask(way, locked)],
        [404, service.ask(way, locked, { path: '/.well-known/acme-challenge/token' })],
      ]
      for (const [index, [status, reply]] of asked.entries())
        if (index !== 2 && index !== 5) assert.equal((await reply).status, status)
      await Promise.all(asked.map(([, reply]) => reply))
      for (const one of [slug, locked])
        assert.deepEqual(summarize(await service.visits(one)), { requests: 0, bytes: 0, visitors: 0 })
    })

    for (const { what, referer, told: expected } of REFERRERS) {
      test(`by ${way}, who led here: ${what}`, async () => {
        const { slug } = await service.publish(FILES)
        const headers = { Referer: referer(slug) }
        await service.ask(way, slug, { headers })
        await service.ask(way, slug, { path: '/style.css', headers })
        assert.deepEqual(summarize(await service.visits(slug)).referrers, expected)
      })
    }

    test(`by ${way}, a visitor is a browser at an address, on one day`, async () => {
      const { slug } = await service.publish(FILES)
      const visit = (agent: string) => service.ask(way, slug, { headers: { 'User-Agent': agent } })
      for (const agent of ['Firefox', 'Firefox', 'Chrome', 'Firefox']) await visit(agent)
      assert.equal((await service.visits(slug)).totals.visitors, 2)
      service.clock.now += 86_400_000
      await visit('Firefox')
      const { totals, series } = await service.visits(slug)
      assert.equal(totals.visitors, 3)
      assert.deepEqual(
        series.slice(-2).map(({ visitors }) => visitors),
        [2, 1],
      )
    })
  }

  for (const way of WAYS) {
    test(`by ${way}: heads between their pages, without bytes`, async () => {
      const { slug } = await service.publish(FILES)
      for (const method of ['GET', 'HEAD', 'GET', 'HEAD']) await service.ask(way, slug, { method })
      const { requests, bytes } = (await service.visits(slug)).totals
      assert.deepEqual({ requests, bytes }, { requests: 4, bytes: 2 * PAGE.length })
    })

    test(`by ${way}: an answer that many sites share, for the site that gave it`, async () => {
      const [one, other] = [
        await service.publish({ 'a.html': PAGE }),
        await service.publish({ 'a.html': PAGE }),
      ]
      for (const { slug } of [one, other, one, one, other]) await service.ask(way, slug, { path: '/none' })
      assert.deepEqual(summarize(await service.visits(one.slug)).missing, { '/none': 3 })
      assert.deepEqual(summarize(await service.visits(other.slug)).missing, { '/none': 2 })
    })
  }

  test('visits of a custom domain are those of its site, which led nobody to itself', async () => {
    const { slug } = await service.publish(FILES)
    await giveDomain(service.secure.running, slug, 'www.example.test')
    await service.secure.certify('www.example.test')
    const headers = { Referer: 'https://www.example.test/page' }
    for (const way of WAYS) {
      await service.ask(way, slug, { host: 'www.example.test', headers })
      await service.ask(way, slug, { headers })
    }
    assert.deepEqual(summarize(await service.visits(slug)), {
      requests: 6,
      bytes: 6 * PAGE.length,
      visitors: 1,
      paths: { '/': 6 },
    })
  })

  test('whom the service sends to HTTPS is counted there', async () => {
    const { slug } = await service.publish(FILES)
    const { status } = await service.secure.plain(`${slug}.${SITES}`)
    assert.equal(status, 308)
    assert.equal((await service.visits(slug)).totals.requests, 0)
  })

  test('what a client takes back before it is sent was no visit', async () => {
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
    await service.ask('HTTP/2', slug, { path: '/large.bin' })
    const begun = client.received.filter(({ type, stream }) => type === TYPE.headers && stream % 102 !== 1)
    const paths = { '/': 1, '/style.css': 1, '/large.bin': 1 + begun.length }
    assert.deepEqual(summarize(await service.visits(slug)).paths, paths)
    client.socket.destroy()
  })

  test('a single-page application counts each path as it was asked for', async () => {
    const { slug } = await service.publish({ 'index.html': PAGE }, '?spaMode=true')
    for (const path of ['/inbox', '/inbox', '/inbox/7'])
      await service.ask('the fast lane', slug, { path, headers: { Accept: 'text/html' } })
    assert.deepEqual(summarize(await service.visits(slug)).paths, { '/inbox': 2, '/inbox/7': 1 })
  })

  test('what many ask on one connection, for paths that come and go, is counted to the last one', async () => {
    const sites = await Promise.all([FILES, FILES, FILES].map((files) => service.publish(files)))
    const paths = ['/', '/page', '/style.css', '/old', '/none', '/none/2', '/app/a', '/app/b']
    const wanted = sites.map(() => new Map<string, number>())
    const socket = await service.connect(sites[0]!.slug)
    const text: string[] = []
    for (let number = 0; number < 3000; number++) {
      const site = (number * 7) % 3 === 0 ? 0 : number % 3
      const path = paths[Math.floor(number / 5) % 2 === 0 ? 0 : (number * 13) % paths.length]!
      const { slug } = sites[site]!
      wanted[site]!.set(path, (wanted[site]!.get(path) ?? 0) + 1)
      const agent = number % 40 < 30 ? 'One' : 'Other'
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
