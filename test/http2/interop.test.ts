import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { sha256 } from '../api/content.ts'
import { noise } from '../edge/fixture.ts'
import { numbers } from '../support/random.ts'
import { requires } from '../tools/part.ts'
import { Http2Fixture, sendRequest } from './http2-fixture.ts'

const BIG = noise(2_500_000)
const MIDDLE = noise(200_000)
const PASSWORD = 'a word that opens'

/** Headers that depend on the connection or the time. */
const IGNORED_HEADERS = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding'])

const SITE = {
  'index.html': '<!doctype html><title>Home</title>',
  'page.html': 'page',
  'a b.txt': 'a space',
  'middle.bin': MIDDLE,
  'big.bin': BIG,
  'empty.txt': '',
  'docs/index.html': 'docs',
  'docs/ü.txt': 'umlaut',
  '404.html': 'a page of its own for what is missing',
  _redirects: '/old /page 301\n/go/* /docs/:splat 302\n/forced /page.html 200!\n',
  _headers:
    '/*\n  X-Own: yes\n  Link: </a>; rel=preload\n  Link: </b>; rel=preload\n/docs/*\n  Cache-Control: public, max-age=9\n',
}

const PATHS = `
/ /page /page.html /a%20b.txt /middle.bin /empty.txt /docs /docs/ /docs/%C3%BC.txt /none /none.css /old /go/x?y=z /forced
/_headers /% /a#b /?q=1 //evil /docs/../x`
  .trim()
  .split(/\s+/)

const HEADERS: Record<string, string>[] = [
  {},
  { 'accept-encoding': 'gzip, br;q=0.5' },
  { range: 'bytes=0-9' },
  { range: 'bytes=5-2' },
  { range: 'bytes=900000-' },
  { 'if-none-match': '*' },
  { 'if-match': '"nothing"' },
  { cookie: 'a=b' },
  { te: 'trailers', 'user-agent': 'x'.repeat(200) },
  { 'content-length': '0' },
  { expect: '100-continue' },
]

describe('HTTP/2', () => {
  let fixture: Http2Fixture
  let session: ClientHttp2Session
  let host: string
  let slug: string
  before(async () => {
    fixture = await Http2Fixture.start()
    slug = await fixture.edge.publish(SITE, {}, { encoded: { 'page.html': { gzip: 'a gzip', br: 'a br' } } })
    host = fixture.edge.host(slug)
    session = fixture.client()
  })
  after(() => fixture[Symbol.asyncDispose]())

  /** Sends a request over HTTP/2 and HTTP/1.1; returns both responses. */
  async function sendToBoth(method: string, path: string, more: Record<string, string>, body?: string) {
    const head = { ':method': method, ':path': path, ':authority': host, ...more }
    const one = await sendRequest(session, head, body)
    const other = await fixture.edge.request(host, path, { method, headers: more, ...(body && { body }) })
    return [one, other].map(({ status, headers, body: bytes }) => {
      const lines = Object.entries(headers).filter(([name]) => !IGNORED_HEADERS.has(name))
      return { status, lines: Object.fromEntries(lines), body: sha256(bytes) }
    })
  }

  test('sends the same responses as HTTP/1.1', async (t) => {
    const pick = numbers(t)
    const statuses = new Set<number>()
    for (let count = 0; count < 300; count++) {
      const method = pick(5) === 0 ? ['HEAD', 'OPTIONS', 'DELETE'][pick(3)]! : 'GET'
      const path = PATHS[pick(PATHS.length)]!
      const more = { ...HEADERS[pick(HEADERS.length)], ...HEADERS[pick(HEADERS.length)] }
      const [one, other] = await sendToBoth(method, path, more)
      assert.deepEqual(one, other, `${method} ${path} ${JSON.stringify(more)}`)
      statuses.add(one!.status)
    }
    for (const status of [200, 204, 206, 301, 302, 304, 400, 404, 405, 412, 416]) {
      assert.ok(statuses.has(status), `no response was ${status}`)
    }
  })

  test('sends complete files, cold and warm, concurrently over several connections', async () => {
    fixture.edge.edge.invalidate([slug])
    const sessions = [session, fixture.client(), fixture.client()]
    const paths = Array.from({ length: 30 }, (_, index) => ['/big.bin', '/middle.bin', '/'][index % 3]!)
    const responses = await Promise.all(
      paths.map((path, index) => sendRequest(sessions[index % 3]!, { ':path': path, ':authority': host })),
    )
    const wanted = [BIG, MIDDLE, Buffer.from(SITE['index.html'])].map((bytes) => sha256(bytes))
    assert.deepEqual(
      responses.map(({ body }) => sha256(body)),
      paths.map((_, index) => wanted[index % 3]),
    )
  })

  test('accepts the password form', async () => {
    const closed = await fixture.edge.publish({ 'index.html': 'secret' })
    await fixture.edge.setPassword(closed, PASSWORD)
    const authority = fixture.edge.host(closed)
    const form = new URLSearchParams({ password: PASSWORD, next: '/' }).toString()
    const type = 'application/x-www-form-urlencoded'
    const there = {
      ':authority': authority,
      ':path': '/_slipway/password',
      ':method': 'POST',
      'content-type': type,
    }
    assert.equal((await sendRequest(session, { ':authority': authority })).status, 401)
    const { status, headers } = await sendRequest(session, there, form)
    assert.equal(status, 303)
    const [cookie] = headers['set-cookie'] as string[]
    // A browser may send each cookie in its own header field (RFC 9113, 8.2.3).
    const crumbs = ['a=b', cookie!.split(';')[0]!]
    const opened = await sendRequest(session, { ':authority': authority, cookie: crumbs })
    assert.equal(opened.body.toString(), 'secret')
  })

  test('decodes header fields as an encoder sends them', async (t) => {
    const pick = numbers(t)
    const received: unknown[] = []
    const echo = (request: { headers: Record<string, unknown> }) => received.push(request.headers['x-any'])
    fixture.server.prependListener('request', echo)
    for (let count = 0; count < 60; count++) {
      const characters = Array.from({ length: pick(60) }, () => 33 + pick(222)).filter((code) => code !== 127)
      const value = String.fromCharCode(...characters)
      await sendRequest(session, { ':method': 'OPTIONS', ':authority': host, 'x-any': value })
      assert.equal(received.at(-1), value)
    }
    fixture.server.off('request', echo)
  })

  test('respects a header table size of zero, and sends the current Date', async () => {
    const plain = connectHttp2(`https://127.0.0.1:${fixture.port}`, {
      rejectUnauthorized: false,
      settings: { headerTableSize: 0 },
    })
    for (let time = 0; time < 3; time++) {
      const { status, headers } = await sendRequest(plain, { ':authority': host })
      assert.deepEqual([status, headers.date], [200, new Date(fixture.edge.clock.now).toUTCString()])
      fixture.edge.clock.now += 1000
    }
    plain.close()
  })

  test('resets a stream whose file is damaged, and continues', async () => {
    const bytes = noise(1_000_000)
    const broken = await fixture.edge.publish({ 'a.bin': bytes, 'b.txt': 'b' })
    const authority = fixture.edge.host(broken)
    const { blobs } = fixture.edge
    const original = blobs.read
    blobs.read = async (...given) => {
      const stream = await original(...given)
      stream?.once('data', () => stream.destroy(new Error('disk failure')))
      return stream
    }
    await assert.rejects(sendRequest(session, { ':path': '/a.bin', ':authority': authority }))
    blobs.read = original
    assert.equal(
      (await sendRequest(session, { ':path': '/b.txt', ':authority': authority })).body.toString(),
      'b',
    )
    assert.ok(fixture.edge.logged.some(({ message }) => message === 'cannot read a published file'))
    fixture.edge.logged.length = 0
  })

  test('counts a request that it rejects as one of the service', async () => {
    const count = () =>
      fixture.edge.options.metrics.counter('slipway_http_requests_total', {
        side: 'api',
        status: '4xx',
        cache: 'none',
      }).value
    const before = count()
    const head = { ':path': '/', ':authority': host, host: 'another.test' }
    assert.equal((await sendRequest(session, head)).status, 400)
    assert.equal(count(), before + 1)
  })

  test('logs no errors', () => {
    assert.deepEqual(fixture.logged, [])
  })
})

test('h2load gets only successful responses', requires('h2load'), async () => {
  await using fixture = await Http2Fixture.start()
  const slug = await fixture.edge.publish({ 'a.bin': noise(4096), 'b.bin': noise(100_000) })
  const urls = ['a', 'b'].map((name) => `https://${fixture.edge.host(slug)}:${fixture.port}/${name}.bin`)
  const options = ['-c4', '-m20', '-n1000', `--connect-to=127.0.0.1:${fixture.port}`]
  const { stdout } = await promisify(execFile)('h2load', [...options, ...urls])
  assert.match(stdout, /1000 succeeded, 0 failed, 0 errored/)
  assert.match(stdout, /1000 2xx/)
})
