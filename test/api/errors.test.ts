import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ERROR_CODES } from '../../protocol/api/errors.schema.ts'
import { openTestTables } from '../support/engines.ts'
import { pausedBody } from '../support/paused-body.ts'
import { KIB } from '../support/units.ts'
import { waitFor } from '../support/wait-for.ts'
import { Api, startApi } from './api.ts'
import { toEntry } from './content.ts'
import { buildTar, createPending, send, watchObjects } from './pending-version.ts'

const api = await startApi({ UPLOADS_AT_ONCE: '1' })
const owner = await api.account()

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND']

/** The error codes of the contract by status. */
const CODES: Record<number, string> = {
  400: 'VALIDATION_ERROR INVALID_JSON INVALID_CODE SIZE_MISMATCH HASH_MISMATCH CONTENT_TYPE_MISMATCH',
  401: 'UNAUTHORIZED INVALID_ID_TOKEN',
  403: 'NOT_TRUSTED INVALID_CLAIM_TOKEN INVALID_UPLOAD_TOKEN DOMAIN_LIMIT_REACHED KEY_LIMIT_REACHED TRUST_LIMIT_REACHED COLLABORATOR_LIMIT_REACHED PREVIEW_LIMIT_REACHED OWNER_REQUIRED SIGN_UP_CLOSED INSUFFICIENT_SCOPE SIGN_IN_AGAIN SITE_SUSPENDED ACCOUNT_SUSPENDED BLOCKED CONTENT_REFUSED',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  408: 'REQUEST_TIMEOUT',
  409: 'UPLOADS_MISSING APPROVAL_REQUIRED VERSION_CONFLICT ALREADY_CLAIMED ALREADY_DECIDED SITE_PENDING DOMAIN_TAKEN DOMAINS_UNAVAILABLE VERSION_LIVE NAME_TAKEN LAST_ADMINISTRATOR',
  410: 'SITE_EXPIRED UPLOAD_EXPIRED',
  413: 'PAYLOAD_TOO_LARGE QUOTA_EXCEEDED',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  429: 'RATE_LIMITED',
  422: 'SECRET_DETECTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE SCAN_UNAVAILABLE',
  507: 'INSUFFICIENT_STORAGE',
}

test('every error code has its status of the contract', () => {
  // Api checks the status of each response against the same table.
  const expected = Object.entries(CODES).flatMap(([status, codes]) =>
    codes.split(' ').map((code) => [code, Number(status)]),
  )
  const statuses = Object.entries(ERROR_CODES).map(([code, { status }]) => [code, status])
  assert.deepEqual(Object.fromEntries(statuses), Object.fromEntries(expected))
})

test('a field of another form is answered with the form that it must have', async () => {
  const { key } = await api.account()
  const trust = { forge: 'github', repository: 'ann/bakery', site: 'x', branch: 'main', repositoryId: 'x' }
  for (const [path, json, message] of [
    ['/api/reports', { url: 'x', reason: 'phishing', email: 'x' }, /^email: must be an email address, /],
    ['/api/v1/me/trusts', trust, /^repositoryId: must be the id of the repository, a number; /],
  ] as const)
    assert.match((await api.request('POST', path, { key, json })).json.error, message)
})

describe('a request that misses its endpoint', () => {
  for (const [method, path, code, hint] of [
    ['POST', '/', 'METHOD_NOT_ALLOWED', /POST \/api\/v1\/publish/],
    ['POST', '/publish', 'NOT_FOUND', /POST \/api\/v1\/publish/],
    ['POST', '/api/v1/publish/', 'NOT_FOUND', /Use \/api\/v1\/publish, without the final slash/],
    ['GET', '/api/v1/publish/?limit=1', 'NOT_FOUND', /Use \/api\/v1\/publish, without the final slash/],
    ['GET', '/api/v1/domains/', 'NOT_FOUND', /without the final slash/],
    ['GET', '/api/v1/nothing/', 'NOT_FOUND', /\/api\/openapi\.json .* \/llms\.txt/],
  ] as const)
    test(`${method} ${path} is answered with JSON that names the right one`, async () => {
      const { json, text } = await api.request(method, path)
      assert.equal(json.code, code)
      assert.match(json.hint, hint)
      assert.ok(text.endsWith('}\n'), 'a terminal shows its prompt on a line of its own')
    })

  test('of an anonymous site is answered with how to get a key and claim the site', async () => {
    const { slug } = await api.publish(api.anonymous, { 'index.html': 'x' })
    for (const [method, hint] of [
      ['GET', /request-code.*verify-code.*\/claim/],
      ['DELETE', /X-Slipway-Claim-Token.*API key/],
    ] as const) {
      const without = await api.request(method, `/api/v1/publish/${slug}`)
      assert.match(without.json.hint, hint)
      const stranger = await owner.request(method, `/api/v1/publish/${slug}`)
      assert.match(stranger.json.hint, /\/claim/)
    }
  })
})

describe('an overloaded or broken service', () => {
  test('answers UNAVAILABLE with Retry-After to an upload or a bundle above the limit of concurrent ones', async () => {
    const bytes = Buffer.alloc(300 * KIB, 'x')
    const slow = await createPending(owner, { 'a.bin': bytes })
    const { upload: other } = await owner.client.create({ files: [toEntry('a.txt', 'hello')] })
    const { body, resume } = pausedBody(bytes.subarray(1), bytes.subarray(0, 1))
    const objects = await watchObjects(api)
    const upload = send(api, slow.target, body)
    await waitFor(() => objects.begun() > 0)
    const calls = [
      () => send(api, other.uploads[0]!, 'hello'),
      () => send(api, other.bundle!, buildTar({ 'a.txt': 'hello' })),
    ]
    for (const call of calls) assert.equal((await call()).json.code, 'UNAVAILABLE')
    resume()
    assert.equal((await upload).status, 200)
    for (const call of calls) assert.equal((await call()).status, 200)
  })

  test('answers INTERNAL with an id and rate limit headers, logs the error in full under that id only, and serves sites', async () => {
    await using broken = await Api.start()
    const { siteUrl } = await broken.publish(broken.anonymous, { 'index.html': 'home' })
    assert.equal((await broken.visit(siteUrl)).status, 200)
    await using tables = await openTestTables(broken.data)
    await tables.db.schema.alterTable('counters').renameTo('lost').execute()
    for (const target of ['/api/v1/publishes', '/api/nowhere', '/api/openapi.json']) {
      broken.pass(2000)
      const { json, headers } = await broken.request('GET', target)
      assert.equal(json.code, 'INTERNAL')
      const [id] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(json.error)!
      assert.equal(headers['x-request-id'], id)
      const logged = broken.running.log.find(({ level, request }) => level === 'error' && request === id)
      assert.match(
        `${logged?.error}`,
        /(no such table: counters|relation "counters" does not exist)[\s\S]*\n +at /,
      )
    }
    assert.equal((await broken.visit(siteUrl)).text, 'home')
    await tables.db.schema.alterTable('lost').renameTo('counters').execute()
    assert.equal((await broken.request('GET', '/api/openapi.json')).status, 200)
  })
})

describe('a method', () => {
  test('that a path does not support is 405 with Allow, whatever the body is', async () => {
    const { paths } = api.conformance!.document
    for (const [template, operations] of Object.entries(paths)) {
      // Direct uploads have the paths of pages, and those for administrators do not exist without their keys.
      if (!template.startsWith('/api/') || template.startsWith('/api/admin/')) continue
      const target = template
        .replace('{slug}', 'some-site-234567')
        .replace('{path}', 'a/b.txt')
        .replace(/\{\w+\}/g, 'x')
      const known = Object.keys(operations).map((method) => method.toUpperCase())
      const allowed = [...known, ...(known.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].sort()
      for (const method of METHODS) {
        if (allowed.includes(method)) continue
        const body = { body: 'x', headers: { 'content-type': 'text/plain' } }
        const sends = !['GET', 'HEAD', 'TRACE'].includes(method)
        const answer = await api.request(method, target, sends ? body : {})
        assert.equal(answer.status, 405, `${method} ${target}`)
        assert.deepEqual(answer.headers.allow!.split(', ').sort(), allowed, `${method} ${target}`)
        if (method !== 'HEAD') assert.equal(answer.json.code, 'METHOD_NOT_ALLOWED')
      }
    }
  })

  test('HEAD is supported wherever GET is, without a body', async () => {
    for (const target of ['/api/v1/me', '/api/v1/publishes', '/api/v1/domains', '/api/openapi.json']) {
      const [get, head] = await Promise.all(['GET', 'HEAD'].map((method) => owner.request(method, target)))
      assert.equal(head!.status, get!.status, target)
      assert.equal(head!.headers['content-type'], get!.headers['content-type'])
      assert.equal(head!.body.length, 0)
    }
  })
})

describe('a URL', () => {
  const nowhere = [
    ...[
      '/api/',
      '/api/v1',
      '/api/v1/',
      '/api/v2/publish',
      '/api/v1/publish/',
      '/api/v1/Publish',
      '/api//v1/me',
    ],
    ...[
      '/api/v1/publishes/',
      '/api/v1/publish/a/b',
      '/api/v1/publish/a/finalize/b',
      '/api/v1/publish//finalize',
    ],
    ...['/api/v1/%zz', '/api/v1/publish/%', '/api/v1/publish/%E0%A4%A', '/api/v1/publish/%ff/finalize'],
    ...['/api/../v1/me', '/api/v1/me/..', '/api/__proto__', '/api/v1/publish/constructor/toString'],
    `/api/v1/${'x'.repeat(5000)}`,
  ]
  test('that matches no route is NOT_FOUND', async () => {
    for (const target of nowhere) {
      assert.equal((await owner.request('GET', target)).json.code, 'NOT_FOUND', target)
      const { status } = await api.request('POST', target)
      assert.ok(status >= 400 && status < 500, `POST ${target}: ${status}`)
    }
    assert.equal((await owner.request('GET', '/api/v1/me?%zz')).status, 200)
  })

  test('outside of the API that matches no route is a page for a browser and JSON for a program', async () => {
    for (const target of ['/nowhere', '/apix', '/%zz', '/%ff', '/api-x', `/${'x'.repeat(5000)}`]) {
      const headers = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
      const page = await api.request('GET', target, { headers })
      assert.equal(page.status, 404, target)
      assert.match(page.headers['content-type']!, /^text\/html/, target)
      for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }]) {
        const { json } = await api.request('GET', target, { headers })
        assert.equal(json.code, 'NOT_FOUND', target)
        assert.match(json.docs, /\/docs\/errors#NOT_FOUND$/)
      }
    }
    assert.equal((await api.request('POST', '/publish', { json: {} })).json.code, 'NOT_FOUND')
  })
})
