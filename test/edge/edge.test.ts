import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DEFAULT_PAGES } from '../../server/edge/respond/pages/error-pages.ts'
import { MIB } from '../support/units.ts'
import { EdgeFixture, noise, type RequestOptions } from './fixture.ts'

const edge = EdgeFixture.shared()
test('a published file is complete, with the type of the manifest and all standard headers', async () => {
  const body = '{"hello":"world"}'
  const files = { 'data.json': { type: 'application/json; charset=utf-8', body } }
  const slug = await edge.publish(files, { ownerId: 'ann' })
  const reply = await edge.get(slug, '/data.json')
  const { date, connection, 'keep-alive': _, etag, ...headers } = reply.headers
  assert.equal(reply.status, 200)
  assert.equal(reply.text, body)
  assert.ok(date)
  assert.ok(connection)
  assert.match(etag!, /^"\w{32}"$/)
  assert.deepEqual(headers, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': `${body.length}`,
    'last-modified': 'Tue, 06 May 2031 07:08:09 GMT',
    'accept-ranges': 'bytes',
    vary: 'Accept-Encoding',
    'cache-control': 'public, max-age=0, must-revalidate',
    'x-content-type-options': 'nosniff',
  })
})

const paths = ['/', '/a.txt', '/docs', '/nowhere', '/nowhere.js', '/docs/nowhere', '/%', '/big.bin']
const variants: RequestOptions[] = [
  {},
  { headers: { 'if-none-match': '*' } },
  { headers: { 'if-match': '"other"' } },
]

test('HEAD equals GET in status and every header', async () => {
  const slug = await edge.publish({
    'index.html': 'root',
    'a.txt': 'a',
    'docs/index.html': 'docs',
    '404.html': 'lost',
    'big.bin': noise(MIB),
  })
  const bare = await edge.publish({ 'only.txt': 'x' })
  const locked = await edge.publish({ 'index.html': 'x' })
  await edge.setPassword(locked, 'open sesame')
  const pending = await edge.createSite()
  const version = await edge.createVersion(slug, { 'index.html': 'draft' }, { live: false })
  for (const site of [slug, bare, locked, pending, 'no-such-site', `${version}--${slug}`]) {
    for (const path of paths) {
      for (const options of variants) {
        const get = await edge.get(site, path, options)
        const head = await edge.get(site, path, { ...options, method: 'HEAD' })
        const { date: _, ...expected } = get.headers
        const { date: __, ...headers } = head.headers
        assert.deepEqual([head.status, headers], [get.status, expected], `${site} ${path}`)
        assert.equal(head.body.length, 0)
      }
    }
  }
})

describe('other methods', () => {
  test('get 405 with Allow', async () => {
    const slug = await edge.publish({ 'index.html': 'x' })
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
      const { status, headers } = await edge.get(slug, '/', { method })
      assert.deepEqual([status, headers.allow], [405, 'GET, HEAD, OPTIONS'], method)
      assert.equal(headers['cache-control'], 'no-store')
    }
    for (const [method, status] of Object.entries({ OPTIONS: 204, PUT: 405 })) {
      const reply = await edge.get(slug, '/_slipway/password', { method })
      assert.deepEqual([reply.status, reply.headers.allow], [status, 'GET, HEAD, OPTIONS, POST'])
    }
  })

  test('OPTIONS gets Allow, for a path and for the whole server', async () => {
    for (const target of ['/', '/nowhere', '*']) {
      const reply = await edge.raw(
        `OPTIONS ${target} HTTP/1.1\r\nHost: amber.sites.test\r\nConnection: close\r\n\r\n`,
      )
      assert.match(reply, /^HTTP\/1\.1 204 .*\r\nAllow: GET, HEAD, OPTIONS\r\n/s)
      assert.doesNotMatch(reply, /content-length|transfer-encoding/i)
    }
  })

  test('an unexpected body is discarded, and a long one closes the connection', async () => {
    const slug = await edge.publish({ 'index.html': 'x' })
    const head = (method: string, more: string) =>
      `${method} / HTTP/1.1\r\nHost: ${edge.host(slug)}\r\n${more}\r\n`
    for (const [method, status] of Object.entries({ PUT: 405, GET: 200 })) {
      const body = `${head(method, 'Content-Length: 5000\r\n')}${'x'.repeat(5000)}`
      const answers = await edge.raw(body + head('HEAD', 'Connection: close\r\n'))
      const statuses = [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, found]) => Number(found))
      assert.deepEqual(statuses, [status, 200])
      for (const more of ['Content-Length: 1000000000\r\n', 'Transfer-Encoding: chunked\r\n']) {
        const answer = await edge.raw(head(method, more))
        assert.match(answer, new RegExp(`^HTTP/1.1 ${status} .*\r\nConnection: close\r\n`, 's'))
      }
    }
  })
})

describe('a path without a file', () => {
  test('gets a plain page without scripts if the site has no 404 page', async () => {
    const slug = await edge.publish({ 'index.html': 'x' })
    const { status, headers, text } = await edge.get(slug, '/<script>alert(1)</script>')
    assert.equal(status, 404)
    assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.match(headers['content-security-policy'] as string, /^default-src 'none'; style-src 'sha256-/)
    assert.doesNotMatch(text, /<script|alert/)
  })

  test('never gets HTML for a script or a style sheet', async () => {
    const slug = await edge.publish({ '404.html': 'lost' })
    for (const path of ['/app.js', '/app.mjs?v=2', '/css/site.css']) {
      const { status, headers } = await edge.get(slug, path)
      assert.deepEqual([status, headers['content-type']], [404, 'text/plain; charset=utf-8'])
    }
  })
})

describe('an error for a client that does not accept HTML', () => {
  const JSON_ONLY = { accept: 'application/json' }
  const read = async (slug: string, path: string, headers: Record<string, string>, method = 'GET') => {
    const { status, headers: found, text } = await edge.get(slug, path, { headers, method })
    return [status, found['content-type'], found['cache-control'], text] as const
  }
  const json = (error: string, code: string, status: number) =>
    [status, 'application/json; charset=utf-8', 'no-store', JSON.stringify({ error, code, status })] as const

  test('is JSON, and a page for those that accept anything', async () => {
    const slug = await edge.publish({ 'a.txt': 'a' })
    const missing = json('Page not found. Check the address, or start from the home page.', 'NOT_FOUND', 404)
    for (const accept of [
      'application/json',
      'image/png',
      'text/html;q=0, */*',
      'text/*;q=0, image/*',
      '*/*;q=0',
    ])
      assert.deepEqual(await read(slug, '/api/x', { accept }), missing, accept)
    assert.deepEqual(await read(slug, '/api/x.js', JSON_ONLY), missing)
    for (const accept of ['*/*', 'text/*', 'application/json, text/html;q=0.1', 'image/avif,*/*;q=0.8', ''])
      assert.match((await read(slug, '/api/x', { accept }))[1]!, /^text\/html/, accept)
    assert.deepEqual(
      await read('unknown-site', '/', JSON_ONLY),
      json('Site not found. Check the address for typos.', 'NOT_FOUND', 404),
    )
    const [status, type] = await read(slug, '/a.txt', { ...JSON_ONLY, range: 'bytes=9-' })
    assert.deepEqual([status, type], [416, 'application/json; charset=utf-8'])
    assert.deepEqual(
      await read(slug, '/a.txt', JSON_ONLY, 'POST'),
      json(
        "Method not allowed. This address doesn't support that kind of request.",
        'METHOD_NOT_ALLOWED',
        405,
      ),
    )
  })

  test('names its cause by a code', () => {
    const { siteExpired, fileBlocked, badRequest, misdirected, preconditionFailed, internalError } =
      DEFAULT_PAGES
    const pages = [siteExpired, fileBlocked, badRequest, misdirected, preconditionFailed, internalError]
    assert.deepEqual(
      pages.map((page) => JSON.parse(`${page.for(JSON_ONLY).body}`).code),
      [
        ...['SITE_EXPIRED', 'CONTENT_REFUSED', 'VALIDATION_ERROR', 'MISDIRECTED_REQUEST'],
        ...['PRECONDITION_FAILED', 'INTERNAL'],
      ],
    )
  })

  test('is the 404 page of the site, if it has one', async () => {
    const slug = await edge.publish({ '404.html': 'lost' })
    assert.equal((await read(slug, '/api/x', JSON_ONLY))[3], 'lost')
  })
})

describe('the states of a site', () => {
  test('unknown, deleted and abandoned ones get the same response', async () => {
    const deleted = await edge.publish({ 'index.html': 'x' })
    const abandoned = await edge.publish({ 'index.html': 'x' })
    await edge.deleteSite(deleted, 'deleted')
    await edge.deleteSite(abandoned, 'abandoned')
    const [unknown, ...others] = await Promise.all(
      ['no-such-site', deleted, abandoned].map(async (slug) => edge.get(slug)),
    )
    assert.equal(unknown!.status, 404)
    assert.equal(unknown!.headers['cache-control'], 'no-store')
    for (const other of others) assert.deepEqual([other.status, other.text], [404, unknown!.text])
  })

  test('one that was never finished says that it is not published yet', async () => {
    const { status, text } = await edge.get(await edge.createSite())
    assert.equal(status, 404)
    assert.match(text, /not published yet/)
  })

  test('an expired one is 410 from the millisecond of its expiry, cached or not', async () => {
    const expiresAt = edge.clock.now + 5000
    const [warm, cold] = [
      await edge.publish({ 'a.txt': 'a' }, { expiresAt }),
      await edge.publish({ 'a.txt': 'a' }, { expiresAt }),
    ]
    const draft = await edge.createVersion(warm, { 'a.txt': 'draft' }, { live: false })
    assert.equal((await edge.get(warm, '/a.txt')).status, 200)
    edge.clock.now = expiresAt - 1
    assert.equal((await edge.get(warm, '/a.txt')).status, 200)
    assert.equal((await edge.get(`${draft}--${warm}`, '/a.txt')).status, 200)
    edge.clock.now = expiresAt
    for (const slug of [warm, cold, `${draft}--${warm}`]) {
      const { status, headers } = await edge.get(slug, '/a.txt')
      assert.deepEqual([status, headers['cache-control']], [410, 'no-store'])
    }
    await edge.deleteSite(warm, 'expired')
    assert.equal((await edge.get(warm, '/a.txt')).status, 410)
    assert.equal((await edge.get(`${draft}--${warm}`, '/a.txt')).status, 410)
  })
})

const preferences: Record<string, (string | undefined)[]> = {
  en: [undefined, '', '*', 'sv', 'it;q=0', `${'x,'.repeat(500)}de`],
  de: ['de-CH,de;q=0.9,en;q=0.8', 'constructor,de;q=0.1'],
  fr: ['en;q=0.5, FR;q=0.8'],
  es: ['sv,es;q=0.7,en;q=0.3'],
  pt: ['pt-BR'],
  nl: ['nl-BE;q=1.0'],
  pl: ['pl'],
  ja: ['ja-JP, *;q=0.5'],
  zh: ['zh-Hans-CN'],
}
test('the language of a page of the service is the most preferred one that exists, else English', async () => {
  for (const [language, values] of Object.entries(preferences)) {
    for (const accepted of values) {
      const headers = accepted === undefined ? {} : { 'accept-language': accepted }
      const page = await edge.get('no-such-site', '/', { headers })
      assert.deepEqual([page.status, page.headers['content-language']], [404, language], `${accepted}`)
      assert.ok(page.text.includes(`<html lang="${language}">`))
    }
  }
})

describe('the host of one version', () => {
  test('serves that version, never cached and never indexed', async () => {
    const slug = await edge.publish({ 'index.html': 'live', 'sub/index.html': 'x', '404.html': 'lost' })
    const draft = await edge.createVersion(
      slug,
      { 'index.html': 'draft', 'sub/index.html': 'x', '404.html': 'lost' },
      { live: false },
    )
    assert.equal((await edge.get(slug)).text, 'live')
    for (const [path, status] of Object.entries({ '/': 200, '/sub': 301, '/nowhere': 404 })) {
      const reply = await edge.get(`${draft}--${slug}`, path)
      assert.equal(reply.status, status)
      assert.equal(reply.headers['x-robots-tag'], 'noindex')
      assert.match(reply.headers['cache-control']!, /no-store/)
    }
    assert.equal((await edge.get(`${draft}--${slug}`)).text, 'draft')
  })

  test('reveals nothing of pending versions, of other sites, or of unknown ids', async () => {
    const slug = await edge.publish({ 'index.html': 'mine' })
    const other = await edge.createSite()
    const foreign = await edge.createVersion(other, { 'index.html': 'theirs' })
    const pending = await edge.createVersion(
      slug,
      { 'index.html': 'half' },
      { live: false, row: { state: 'pending' } },
    )
    for (const id of [foreign, pending, '0'.repeat(26)]) {
      const { status, text } = await edge.get(`${id}--${slug}`)
      assert.equal(status, 404)
      assert.match(text, /Version not found/)
    }
  })
})

test('a custom domain serves its site while it is active, with its changes', async () => {
  const slug = await edge.publish({ 'index.html': 'one' })
  await edge.addDomain('www.example.org', slug, { status: 'pending' })
  assert.equal((await edge.request('www.example.org', '/')).status, 404)
  await edge.moveDomain('www.example.org', slug, slug)
  edge.clock.now += 1000
  assert.equal((await edge.request('WWW.example.org:8080', '/')).text, 'one')
  await edge.addDomain('pending.example.org', slug, { status: 'pending' })
  await edge.addDomain('www.pending.example.org', slug, { primaryDomain: 'pending.example.org' })
  assert.equal((await edge.request('www.pending.example.org', '/')).text, 'one', 'not a redirect')
  await edge.createVersion(slug, { 'index.html': 'two' })
  assert.equal((await edge.request('www.example.org', '/')).text, 'two')
  await edge.setPassword(slug, 'secret')
  assert.equal((await edge.request('www.example.org', '/')).status, 401)
  await edge.deleteSite(slug, 'deleted')
  assert.equal((await edge.request('www.example.org', '/')).status, 404)
})
