import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { PAGE_PATHS } from '../../server/web/pages.ts'
import { Api, HOUR_MS, startApi } from './api.ts'
import { toManifest } from './content.ts'
import type { Operation } from './document.ts'

const api = await startApi()
const document = api.conformance!.document

/** The routes of spec 4 and of the contract. */
const ROUTES = `
POST /api/auth/agent/request-code
POST /api/auth/agent/verify-code
POST /api/auth/session
DELETE /api/auth/session
GET /api/v1/me
DELETE /api/v1/me
POST /api/v1/me/key
GET /api/v1/me/sessions
DELETE /api/v1/me/sessions
DELETE /api/v1/me/sessions/{id}
POST /api/v1/publish
PUT /api/v1/publish/{slug}
GET /api/v1/publish/{slug}
DELETE /api/v1/publish/{slug}
POST /api/v1/publish/{slug}/finalize
POST /api/v1/publish/{slug}/uploads/refresh
PATCH /api/v1/publish/{slug}/metadata
POST /api/v1/publish/{slug}/duplicate
POST /api/v1/publish/{slug}/claim
POST /api/v1/publish/{slug}/claim/preview
GET /api/v1/publish/{slug}/analytics
GET /api/v1/publish/{slug}/versions
GET /api/v1/publish/{slug}/versions/{versionId}
POST /api/v1/publish/{slug}/versions/{versionId}/restore
DELETE /api/v1/publish/{slug}/versions/{versionId}
GET /api/v1/publish/{slug}/files/{*}
GET /api/v1/publish/{slug}/archive
PUT /api/v1/_upload/{*}
PUT /api/v1/_upload/{slug}/{versionId}
GET /api/v1/publishes
GET /api/v1/domains
POST /api/v1/domains
GET /api/v1/domains/{domain}
DELETE /api/v1/domains/{domain}
GET /api/v1/domains/{domain}/events`
  .trim()
  .split('\n')

function operations(): [name: string, operation: Operation][] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  )
}

describe('the OpenAPI document', () => {
  test('has version 3.1, a description and the address of the service', () => {
    assert.match(document.openapi, /^3\.1\.\d+$/)
    assert.equal(typeof document.info.title, 'string')
    assert.equal(typeof document.info.version, 'string')
    assert.deepEqual(document.servers, [{ url: api.baseUrl }])
  })

  test('has the routes of the spec and the contract, and no other', () => {
    assert.deepEqual(
      operations()
        .map(([name]) => name)
        .toSorted(),
      ROUTES.toSorted(),
    )
  })

  test('has valid methods and parameter locations, each operation with a summary and responses', () => {
    for (const [name, { summary, tags, responses, parameters = [] }] of operations()) {
      assert.match(name, /^(GET|PUT|POST|DELETE|PATCH) \/api\//)
      assert.ok(summary && tags?.length, `${name} has a summary and tags`)
      const statuses = Object.keys(responses)
      assert.ok(
        statuses.some((status) => /^2\d\d$/.test(status)),
        `${name} documents its success`,
      )
      for (const status of statuses) assert.match(status, /^([1-5]\d\d|[45]XX|default)$/, name)
      for (const { description } of Object.values(responses)) assert.equal(typeof description, 'string', name)
      for (const parameter of parameters) assert.match(parameter.in, /^(path|query|header|cookie)$/, name)
    }
  })

  test('has a parameter for each placeholder in a path, and no other', () => {
    for (const [name, { parameters = [] }] of operations()) {
      const places = [...name.matchAll(/\{([^}]+)\}/g)].map(([, place]) => place!)
      const declared = parameters.filter((parameter) => parameter.in === 'path')
      assert.deepEqual(declared.map((parameter) => parameter.name).sort(), places.sort(), name)
      for (const { required } of declared) assert.equal(required, true, name)
      const all = parameters.map((parameter) => `${parameter.in} ${parameter.name}`)
      assert.equal(new Set(all).size, all.length, `${name} has no parameter twice`)
    }
  })

  test('has valid JSON Schema 2020-12 only', () => {
    const ajv = new Ajv2020({ strict: false })
    const valid = (schema: object, name: string) =>
      assert.ok(ajv.validateSchema(schema), `${name}: ${ajv.errorsText()}`)
    for (const [name, { parameters = [], requestBody, responses }] of operations()) {
      for (const parameter of parameters) valid(parameter.schema, `${name} ${parameter.name}`)
      for (const { schema } of Object.values(requestBody?.content ?? {})) if (schema) valid(schema, name)
      for (const [status, { content = {} }] of Object.entries(responses)) {
        for (const { schema } of Object.values(content)) valid(schema, `${name} ${status}`)
      }
    }
  })

  test('marks operations with a required, an optional and no key', async () => {
    const schemes = Object.keys(document.components.securitySchemes)
    for (const [name, operation] of operations()) {
      const security = (operation.security ?? document.security) as Record<string, unknown>[]
      for (const way of security)
        for (const scheme of Object.keys(way)) assert.ok(schemes.includes(scheme), name)
      const needsKey = security.length > 0 && security.every((way) => Object.keys(way).length > 0)
      const [method, path] = name.split(' ') as [string, string]
      const target = path
        .replace('{slug}', 'no-such-site-234567')
        .replace('{*}', 'a')
        .replace(/\{\w+\}/g, 'x')
      const without = await api.request(method, target)
      if (needsKey) assert.equal(without.status, 401, name)
      const withWrong = await api.request(method, target, { key: 'sl_live_wrong' })
      assert.equal(withWrong.status === 401, security.length > 0, `${name} with a wrong key`)
    }
  })

  test('has one schema for errors', () => {
    const [, first] = operations()[0]!
    const error = first.responses['4XX']
    for (const [name, { responses }] of operations()) {
      assert.deepEqual(responses['4XX'], error, name)
      assert.deepEqual(responses['5XX'], error, name)
    }
    const schema = error!.content!['application/json']!.schema as { required: string[] }
    assert.deepEqual(schema.required.toSorted(), ['code', 'docs', 'error', 'hint', 'status'])
  })

  test('requires exactly the fields of a manifest that the spec requires', () => {
    const { requestBody } = document.paths['/api/v1/publish']!.post!
    const ajv = new Ajv2020({ strict: false })
    const takes = ajv.compile(requestBody!.content['application/json']!.schema)
    assert.ok(takes({ files: toManifest({ 'index.html': 'x' }) }))
    assert.ok(
      takes({ files: [{ path: 'a', size: 1, contentType: 'text/plain', more: 1 }], more: 1, viewer: {} }),
    )
    for (const left of ['path', 'size', 'contentType']) {
      const [entry] = toManifest({ 'index.html': 'x' })
      assert.equal(takes({ files: [{ ...entry, [left]: undefined }] }), false, left)
    }
    assert.equal(takes({}), false)
    const types = Object.keys(requestBody!.content).sort()
    assert.deepEqual(types, ['application/gzip', 'application/json', 'application/x-tar', 'application/zip'])
  })

  test('documents every successful response as it is sent', async () => {
    await everyCall()
    const documented = operations().flatMap(([name, { responses }]) =>
      Object.keys(responses)
        .filter((status) => /^2/.test(status))
        .map((status) => `${name} ${status}`),
    )
    // Api checks each response against its schema; this test asserts that every documented one was received.
    const seen = api.conformance!.seen
    assert.deepEqual(
      documented.filter((name) => !seen.has(name)),
      [],
    )
  })
})

/** Calls every operation of the API successfully once. */
async function everyCall(): Promise<void> {
  const contents = { 'index.html': 'home', 'a.txt': 'a' }
  const { email, client, key } = await api.account()
  await client.me()
  const { slug, versionId } = await api.publish(client, contents)
  await client.visits(slug)
  const { upload } = await api.update(client, slug, { ...contents, 'a.txt': 'b' })
  await client.refresh(slug, upload)
  await api.publish(client, { 'index.html': 'new' }, { slug })
  await client.list()
  await client.details(slug)
  await client.setMetadata(slug, { title: 'T' })
  await client.versions(slug)
  await client.version(slug, versionId)
  await client.restore(slug, versionId)
  await client.deleteVersion(slug, upload.versionId)
  for (const what of ['files/a.txt', 'archive'])
    await api.request('GET', `/api/v1/publish/${slug}/${what}`, { key })
  await client.addDomain('www.example.com', slug)
  await client.domains()
  await client.checkDomain('www.example.com')
  for await (const _ of client.domainEvents('www.example.com')) break
  api.conformance!.checkBytes('GET', '/api/v1/domains/www.example.com/events', 200, 'text/event-stream')
  await client.removeDomain('www.example.com')
  const { slug: copy } = await client.duplicate(slug)
  await client.delete(copy)
  const anonymous = await api.publish(api.anonymous, contents)
  await api.anonymous.claimPreview(anonymous.slug, anonymous.claimToken!)
  await client.claim(anonymous.slug, anonymous.claimToken!)
  const { apiKey } = await client.newKey()
  await api.anonymous.requestCode(email)
  await api.anonymous.signIn(email, await api.running.mailedCode(email))
  const renewed = api.client(apiKey)
  await renewed.endSession((await renewed.sessions()).sessions[0]!.id)
  await renewed.endOtherSessions()
  await renewed.deleteAccount(email)
  await api.anonymous.signOut()
}

describe('the pages about the API', () => {
  test('have a reference of every route at /docs', async () => {
    const { status, headers, text } = await api.request('GET', '/docs')
    assert.equal(status, 200)
    assert.match(headers['content-type']!, /^text\/html/)
    for (const [name, { summary }] of operations()) {
      const [method, path] = name.replace('{*}', '{path}').split(' ') as [string, string]
      assert.ok(text.includes(`<b>${method}</b> <span>${path}</span>`), name)
      assert.ok(text.includes(summary!.split("'")[0]!), name)
    }
    assert.doesNotMatch(text, /undefined|\[object Object\]|\{\*\}/)
  })

  test('explain at / how to publish', async () => {
    const { status, text } = await api.request('GET', '/')
    assert.equal(status, 200)
    assert.ok(text.includes(api.baseUrl))
  })

  test('report at /health that the service is healthy', async () => {
    const { status, json } = await api.request('GET', '/health')
    assert.equal(status, 200)
    assert.deepEqual(json, { status: 'ok' })
  })
})

test('URLs have the scheme, host and port of the configured base URL', async () => {
  await using far = await Api.start({
    BASE_URL: 'https://slipway.example.com:8443/',
    SITE_DOMAIN: 'sites.example.net',
  })
  const { json } = await far.request('POST', '/api/v1/publish', {
    json: { files: toManifest({ 'index.html': 'x' }) },
  })
  const { slug, siteUrl, upload, claimUrl } = json
  assert.equal(siteUrl, `https://${slug}.sites.example.net:8443/`)
  assert.equal(upload.finalizeUrl, `https://slipway.example.com:8443/api/v1/publish/${slug}/finalize`)
  assert.ok(upload.uploads[0].url.startsWith(`https://slipway.example.com:8443/api/v1/_upload/${slug}/`))
  assert.ok(claimUrl.startsWith(`https://slipway.example.com:8443/claim?slug=${slug}&token=`))
})

const fetchPage = (path: string, headers: Record<string, string> = {}) =>
  api.request('GET', path, { headers })

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  `img-src 'self' http://*.localhost:${api.port}`,
  "connect-src 'self'",
  "worker-src 'self'",
  `frame-src http://*.localhost:${api.port}`,
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
      const { status, headers } = await fetchPage(path)
      assert.equal(status, 200)
      assert.equal(headers['content-security-policy'], POLICY)
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.equal(headers['referrer-policy'], 'no-referrer')
      assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
      assert.equal(headers['x-ratelimit-limit'], undefined)
    })

    test(`${path} is revalidated by etag, and compressed for a client that accepts it`, async () => {
      const plain = await fetchPage(path)
      assert.equal(plain.headers['cache-control'], 'no-cache')
      const etag = plain.headers.etag ?? ''
      assert.match(etag, /^"[\w-]+"$/)
      const again = await fetchPage(path, { 'If-None-Match': `"other", W/${etag}` })
      assert.deepEqual([again.status, again.headers.etag, again.body.length], [304, etag, 0])
      const head = await api.request('HEAD', path)
      assert.deepEqual([head.status, Number(head.headers['content-length'])], [200, plain.body.length])
      for (const [accepted, read] of [
        ['gzip, br', brotliDecompressSync],
        ['gzip;q=1.0, br;q=0', gunzipSync],
        ['zstd', zstdDecompressSync],
      ] as const) {
        const small = await fetchPage(path, { 'Accept-Encoding': accepted })
        assert.ok(small.body.length < plain.body.length)
        assert.deepEqual(read(small.body), plain.body)
        assert.equal(small.headers.vary, 'Accept-Encoding')
        assert.notEqual(small.headers.etag, etag)
        const known = { 'Accept-Encoding': accepted, 'If-None-Match': small.headers.etag! }
        assert.equal((await fetchPage(path, known)).status, 304)
      }
    })

    test(`${path} supports ranges and preconditions`, async () => {
      const whole = await fetchPage(path)
      const part = await fetchPage(path, { Range: 'bytes=10-19' })
      assert.equal(part.status, 206)
      assert.deepEqual(part.body, whole.body.subarray(10, 20))
      const failed = await fetchPage(path, { 'If-Match': '"other"' })
      assert.equal(failed.status, 412)
    })
  }

  test('names its scripts and styles by their hashes, so that they can be cached forever', async () => {
    const html = (await fetchPage('/')).text
    const assets = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path!)
    assert.ok(assets.some((path) => path.endsWith('.js')) && assets.some((path) => path.endsWith('.css')))
    for (const path of assets) {
      const { status, headers } = await fetchPage(path)
      assert.equal(status, 200)
      assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
      assert.match(headers['content-type'] ?? '', /^text\/(javascript|css); charset=utf-8$/)
      const small = await fetchPage(path, { 'Accept-Encoding': 'gzip, br' })
      assert.equal(small.headers['content-encoding'], 'br')
      assert.equal((await fetchPage(`${path}.br`)).status, 404)
    }
  })

  test('has no inline scripts and styles', async () => {
    for (const path of paths) {
      const html = (await fetchPage(path)).text
      assert.doesNotMatch(html, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/)
    }
  })

  test('contains the limits of the service', async () => {
    await using small = await Api.start({ ANONYMOUS_FILE_BYTES: '1000', ANONYMOUS_LIFETIME: '3600' })
    const html = (await small.request('GET', '/')).text
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
      const { status, text } = await fetchPage(path, { accept: 'text/html' })
      assert.equal(status, 404)
      assert.match(text, /There is no page here/)
    })
})

describe('a report of a violated Content-Security-Policy', () => {
  const report = (body: string, type = 'application/csp-report') =>
    api.request('POST', '/_reports/csp', { headers: { 'content-type': type }, body })
  const logged = () =>
    api.running.log.filter(({ message }) => message === 'content security policy violation')

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
    api.pass(HOUR_MS)
    const before = logged().length
    for (let count = 0; count < 150; count++) await report('{}')
    assert.equal(logged().length - before, 100)
    api.pass(HOUR_MS)
    await report('{}')
    assert.equal(logged().length - before, 101)
  })
})
