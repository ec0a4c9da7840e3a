import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { Api, toTarget } from './api.ts'
import { toManifest } from './content.ts'
import type { ApiDocument, Operation } from './document.ts'

let api: Api
let document: ApiDocument
before(async () => {
  api = await Api.start()
  document = api.conformance!.document
})
after(() => api[Symbol.asyncDispose]())

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

  test('is readable by pages of any origin, without a key', async () => {
    const answer = await api.request('GET', '/api/openapi.json', {
      headers: { origin: 'https://elsewhere.example' },
    })
    assert.equal(answer.headers['access-control-allow-origin'], '*')
    assert.match(answer.headers['content-type']!, /^application\/json/)
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

  test('are revalidated, cannot be framed, and run only own scripts', async () => {
    for (const target of ['/', '/docs', '/claim']) {
      const { headers } = await api.request('GET', target)
      assert.match(`${headers['content-security-policy']}`, /default-src 'none'/)
      assert.match(`${headers['content-security-policy']}`, /frame-ancestors 'none'/)
      assert.doesNotMatch(`${headers['content-security-policy']}`, /unsafe/)
      const again = await api.request('GET', target, { headers: { 'if-none-match': `${headers.etag}` } })
      assert.equal(again.status, 304)
      assert.equal(again.body.length, 0)
    }
  })

  test('report at /health that the service is healthy', async () => {
    const { status, json } = await api.request('GET', '/health')
    assert.equal(status, 200)
    assert.deepEqual(json, { status: 'ok' })
  })
})

test('URLs in responses are absolute, so that a client needs only the base URL', async () => {
  const { upload } = await api.create(api.anonymous, { 'index.html': 'x' })
  for (const url of [upload.finalizeUrl, upload.uploads[0]!.url]) {
    assert.ok(url.startsWith(`${api.baseUrl}/api/v1/`))
    assert.notEqual(toTarget(url), url)
  }
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
