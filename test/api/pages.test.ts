import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { PAGE_PATHS } from '../../server/web/pages.ts'
import { sendRequest } from '../operator/requests.ts'
import { type RunningService, startTestService } from '../support/service.ts'

let service: RunningService

before(async () => {
  service = await startTestService()
})

after(() => service[Symbol.asyncDispose]())

const POLICY = (port: number) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' http://*.localhost:${port}`,
    "connect-src 'self'",
    "worker-src 'self'",
    `frame-src http://*.localhost:${port}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    'report-uri /_reports/csp',
  ].join('; ')

describe('a page', () => {
  const paths = [
    ...PAGE_PATHS.map((path) => path.replace(':slug', 'a-site').replace(':view', 'files')),
    '/docs',
  ]

  for (const path of [...paths, '/favicon.svg']) {
    test(`${path} runs only own scripts, frames only sites, and sends no referrer`, async () => {
      const { status, headers } = await sendRequest(service.port, { path })
      assert.equal(status, 200)
      assert.equal(headers['content-security-policy'], POLICY(service.port))
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.equal(headers['referrer-policy'], 'no-referrer')
      assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
      assert.equal(headers['x-ratelimit-limit'], undefined)
    })

    test(`${path} is revalidated by etag, and compressed for a client that accepts it`, async () => {
      const plain = await sendRequest(service.port, { path })
      assert.equal(plain.headers['cache-control'], 'no-cache')
      const etag = plain.headers.etag ?? ''
      assert.match(etag, /^"[\w-]+"$/)
      const again = await sendRequest(service.port, {
        path,
        headers: { 'If-None-Match': `"other", W/${etag}` },
      })
      assert.deepEqual([again.status, again.headers.etag, again.body.length], [304, etag, 0])
      const head = await sendRequest(service.port, { path, method: 'HEAD' })
      assert.deepEqual([head.status, Number(head.headers['content-length'])], [200, plain.body.length])
      for (const [accepted, read] of [
        ['gzip, br', brotliDecompressSync],
        ['gzip;q=1.0, br;q=0', gunzipSync],
        ['zstd', zstdDecompressSync],
      ] as const) {
        const small = await sendRequest(service.port, { path, headers: { 'Accept-Encoding': accepted } })
        assert.ok(small.body.length < plain.body.length)
        assert.deepEqual(read(small.body), plain.body)
        assert.equal(small.headers.vary, 'Accept-Encoding')
        assert.notEqual(small.headers.etag, etag)
        const known = { 'Accept-Encoding': accepted, 'If-None-Match': small.headers.etag! }
        assert.equal((await sendRequest(service.port, { path, headers: known })).status, 304)
      }
    })

    test(`${path} supports ranges and preconditions`, async () => {
      const whole = await sendRequest(service.port, { path })
      const part = await sendRequest(service.port, { path, headers: { Range: 'bytes=10-19' } })
      assert.equal(part.status, 206)
      assert.deepEqual(part.body, whole.body.subarray(10, 20))
      const failed = await sendRequest(service.port, { path, headers: { 'If-Match': '"other"' } })
      assert.equal(failed.status, 412)
    })
  }

  test('names its scripts and styles by their hashes, so that they can be cached forever', async () => {
    const html = (await sendRequest(service.port, { path: '/' })).body.toString()
    const assets = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path!)
    assert.ok(assets.some((path) => path.endsWith('.js')) && assets.some((path) => path.endsWith('.css')))
    for (const path of assets) {
      const { status, headers } = await sendRequest(service.port, { path })
      assert.equal(status, 200)
      assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
      assert.match(headers['content-type'] ?? '', /^text\/(javascript|css); charset=utf-8$/)
      const small = await sendRequest(service.port, { path, headers: { 'Accept-Encoding': 'gzip, br' } })
      assert.equal(small.headers['content-encoding'], 'br')
      assert.equal((await sendRequest(service.port, { path: `${path}.br` })).status, 404)
    }
  })

  test('has no inline scripts and styles', async () => {
    for (const path of paths) {
      const html = (await sendRequest(service.port, { path })).body.toString()
      assert.doesNotMatch(html, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/)
    }
  })

  test('contains the limits of the service', async () => {
    await using small = await startTestService({ ANONYMOUS_FILE_BYTES: '1000', ANONYMOUS_LIFETIME: '3600' })
    const html = (await sendRequest(small.port, { path: '/' })).body.toString()
    const [, content = ''] = /<meta name="slipway" content="([^"]*)">/.exec(html) ?? []
    const settings = JSON.parse(content.replaceAll('&#34;', '"'))
    assert.equal(settings.baseUrl, small.baseUrl)
    assert.equal(settings.anonymous.fileBytes, 1000)
    assert.equal(settings.anonymousLifetime, 3600)
  })
})

describe('a file of the pages', () => {
  for (const path of [
    '/assets/nothing.js',
    '/assets/..%2findex.html',
    '/assets/%2e%2e/index.html',
    '/assets/',
    '/claim.js',
  ])
    test(`${path} is not found`, async () => {
      const { status, body } = await sendRequest(service.port, { path, headers: { Accept: 'text/html' } })
      assert.equal(status, 404)
      assert.match(body.toString(), /There is no page here/)
    })
})

describe('a report of a violated Content-Security-Policy', () => {
  const report = (body: string, type = 'application/csp-report') =>
    sendRequest(service.port, {
      method: 'POST',
      path: '/_reports/csp',
      headers: { 'Content-Type': type },
      body,
    })
  const logged = () => service.log.filter(({ message }) => message === 'content security policy violation')

  test('is logged without the parts of URLs that may be secret', async () => {
    const { status } = await report(
      JSON.stringify({
        'csp-report': {
          'document-uri': 'http://localhost/claim?slug=a&token=secret',
          'effective-directive': 'script-src-elem',
          'blocked-uri': 'inline',
          'script-sample': 'secret',
        },
      }),
    )
    assert.equal(status, 204)
    const [{ time: _, level, message: __, ...fields } = {}] = logged().slice(-1)
    assert.deepEqual(
      [level, fields],
      [
        'warn',
        {
          'document-uri': 'http://localhost/claim',
          'effective-directive': 'script-src-elem',
          'blocked-uri': 'inline',
        },
      ],
    )
  })

  for (const body of [
    '',
    '[]',
    'null',
    '{"csp-report":7}',
    '{"csp-report":{"blocked-uri":{"a":1}}}',
    'x'.repeat(10_000),
  ])
    test(`that is ${body.slice(0, 40) || 'empty'} is ignored`, async () => {
      assert.equal((await report(body, 'text/plain')).status, 204)
    })

  test('that is too long is refused', async () => {
    assert.equal((await report('x'.repeat(20_000))).status, 413)
  })

  test('is logged at most a hundred times an hour', async () => {
    service.clock.now += 3_600_000
    const before = logged().length
    for (let count = 0; count < 150; count++) await report('{}')
    assert.equal(logged().length - before, 100)
    service.clock.now += 3_600_000
    await report('{}')
    assert.equal(logged().length - before, 101)
  })
})
