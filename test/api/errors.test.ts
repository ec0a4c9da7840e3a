import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { METHODS, request } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { ErrorCode } from '../../protocol/api/errors.ts'
import { STATUS } from '../../server/lib/errors.ts'
import { type Account, Api, DAY_MS, HOUR_MS, toTarget } from './api.ts'
import type { ApiResponse } from './api-response.ts'
import { toEntry, toManifest } from './content.ts'
import { ServiceOnSmallDisk } from './small-disk.ts'

let api: Api
let owner: Account
before(async () => {
  api = await Api.start({ UPLOADS_AT_ONCE: '1' })
  owner = await api.account()
})
after(() => api[Symbol.asyncDispose]())

const site = (slug: string, rest = '') => `/api/v1/publish/${slug}${rest}`
const json = (body: unknown, key: string | undefined = owner.key) => ({ json: body, key })

/** Creates a site with one pending file of five bytes. */
async function createPendingSite(more: object = {}) {
  const files = [{ ...toEntry('a.txt', 'hello'), ...more }]
  const { slug, upload } = await owner.client.create({ files })
  const [target] = upload.uploads
  const put = (body: string, headers: Record<string, string> = {}) =>
    api.request('PUT', toTarget(target!.url), { body, headers: { ...target!.headers, ...headers } })
  return { slug, upload, target: target!, put }
}

const live = () => api.publish(owner.client, { 'index.html': 'x' })

/** Every error code of the contract that a client can cause, and how. */
const provocations: [
  statusAndCode: `${number} ${ErrorCode}`,
  how: string,
  provoke: () => Promise<ApiResponse>,
][] = [
  [
    '400 VALIDATION_ERROR',
    'a manifest that breaks a rule',
    () => api.request('POST', '/api/v1/publish', json({ files: [] })),
  ],
  [
    '400 INVALID_JSON',
    'a body that is not JSON',
    () =>
      api.request('POST', '/api/v1/publish', { body: '{', headers: { 'content-type': 'application/json' } }),
  ],
  [
    '400 INVALID_CODE',
    'a wrong code',
    () => api.request('POST', '/api/auth/agent/verify-code', { json: { email: 'a@example.org', code: 'x' } }),
  ],
  ['400 SIZE_MISMATCH', 'bytes of another length', async () => (await createPendingSite()).put('hello!')],
  ['400 HASH_MISMATCH', 'other bytes', async () => (await createPendingSite()).put('jello')],
  [
    '400 CONTENT_TYPE_MISMATCH',
    'bytes of another type',
    async () => (await createPendingSite()).put('hello', { 'content-type': 'text/html' }),
  ],
  ['401 UNAUTHORIZED', 'no key', () => api.request('GET', '/api/v1/publishes')],
  [
    '403 INVALID_CLAIM_TOKEN',
    'a wrong claim token',
    async () => {
      const { slug } = await api.publish(api.anonymous, { 'index.html': 'x' })
      return api.request('POST', site(slug, '/claim'), json({ claimToken: 'x' }))
    },
  ],
  [
    '403 INVALID_UPLOAD_TOKEN',
    'a changed upload address',
    async () => api.request('PUT', `${toTarget((await createPendingSite()).target.url)}0`, { body: 'hello' }),
  ],
  [
    '403 DOMAIN_LIMIT_REACHED',
    'more domains than the plan has',
    async () => {
      const { client, key } = await api.account()
      const { slug } = await api.publish(client, { 'index.html': 'x' })
      await client.addDomain('one.example.com', slug)
      return api.request('POST', '/api/v1/domains', json({ domain: 'two.example.com', siteSlug: slug }, key))
    },
  ],
  [
    '404 NOT_FOUND',
    'an unknown site',
    () => api.request('GET', site('no-such-site-234567'), { key: owner.key }),
  ],
  ['404 NOT_FOUND', 'a route that is not there', () => api.request('GET', '/api/v2/publish')],
  ['405 METHOD_NOT_ALLOWED', 'a method that is not known', () => api.request('PATCH', '/api/v1/publish')],
  [
    '409 UPLOADS_MISSING',
    'a finalize before the uploads',
    async () => {
      const { slug, upload } = await createPendingSite()
      return api.request('POST', site(slug, '/finalize'), json({ versionId: upload.versionId }))
    },
  ],
  [
    '409 VERSION_CONFLICT',
    'an update of a version that is not live any more',
    async () => {
      const files = toManifest({ 'index.html': 'y' })
      return api.request('PUT', site((await live()).slug), json({ files, baseVersionId: 'x' }))
    },
  ],
  [
    '409 ALREADY_CLAIMED',
    'a claim of a site of another account',
    async () => {
      const { slug, claimToken } = await api.publish(api.anonymous, { 'index.html': 'x' })
      await (await api.account()).client.claim(slug, claimToken!)
      return api.request('POST', site(slug, '/claim'), json({ claimToken }))
    },
  ],
  [
    '409 SITE_PENDING',
    'a duplicate of a site that was never finalized',
    async () => api.request('POST', site((await createPendingSite()).slug, '/duplicate'), { key: owner.key }),
  ],
  [
    '409 DOMAIN_TAKEN',
    'a domain that was added before',
    async () => {
      const { client, key } = await api.account()
      const { slug } = await api.publish(client, { 'index.html': 'x' })
      await client.addDomain('one.example.com', slug)
      return api.request('POST', '/api/v1/domains', json({ domain: 'one.example.com', siteSlug: slug }, key))
    },
  ],
  [
    '409 VERSION_LIVE',
    'deleting the live version',
    async () => {
      const { slug, versionId } = await live()
      return api.request('DELETE', site(slug, `/versions/${versionId}`), { key: owner.key })
    },
  ],
  [
    '410 SITE_EXPIRED',
    'a claim after the expiry',
    async () => {
      const { slug, claimToken } = await api.publish(api.anonymous, { 'index.html': 'x' })
      api.pass(DAY_MS)
      return api.request('POST', site(slug, '/claim'), json({ claimToken }))
    },
  ],
  [
    '410 UPLOAD_EXPIRED',
    'an upload after the expiry of its URL',
    async () => {
      const { put } = await createPendingSite()
      api.pass(HOUR_MS)
      return put('hello')
    },
  ],
  [
    '413 PAYLOAD_TOO_LARGE',
    'a body that is too large',
    () => api.request('POST', '/api/v1/publish', json({ filler: 'x'.repeat(2 ** 21) })),
  ],
  [
    '415 UNSUPPORTED_MEDIA_TYPE',
    'a body of another kind',
    () => api.request('POST', '/api/v1/publish', { body: 'x', headers: { 'content-type': 'text/plain' } }),
  ],
  [
    '429 RATE_LIMITED',
    'a sixth code in an hour',
    async () => {
      const requestCode = () =>
        api.request('POST', '/api/auth/agent/request-code', { json: { email: 'often@example.org' } })
      for (let round = 0; round < 5; round++) await requestCode()
      return requestCode()
    },
  ],
]

describe('an error has its code, its status and a message', () => {
  for (const [statusAndCode, how, provoke] of provocations) {
    test(`${statusAndCode}: ${how}`, async () => {
      const { status, json } = await provoke()
      assert.equal(`${status} ${json.code}`, statusAndCode)
      assert.match(json.error, /^[\p{L}\d'"].{10,300}$/u)
    })
  }

  test('every error code is tested, those of an overloaded service below and of slow clients in slow-bodies.test.ts', () => {
    const provoked = new Set<string>(provocations.map(([statusAndCode]) => statusAndCode.slice(4)))
    const others = Object.keys(STATUS).filter((code) => !provoked.has(code))
    assert.deepEqual(others.sort(), ['INSUFFICIENT_STORAGE', 'INTERNAL', 'REQUEST_TIMEOUT', 'UNAVAILABLE'])
  })
})

describe('an overloaded or broken service', () => {
  test('answers UNAVAILABLE with Retry-After above the limit of concurrent uploads', async () => {
    const bytes = Buffer.alloc(300 * 1024, 'x')
    const [slow, other] = [await createPendingSite(toEntry('a.bin', bytes)), await createPendingSite()]
    const upload = request(slow.target.url.replace('localhost', '127.0.0.1'), {
      method: 'PUT',
      headers: { ...slow.target.headers, 'Content-Length': `${bytes.length}` },
    })
    upload.on('error', () => undefined)
    const ended = new Promise((resolve) => {
      upload.on('response', (answer) => resolve(answer.resume().statusCode))
    })
    upload.write(bytes.subarray(1))
    // The upload has started once its file exists.
    const folder = join(api.data, 'blobs', 'staged', slow.upload.versionId)
    while ((await readdir(folder).catch(() => [])).length === 0) await setImmediate()
    const answer = await other.put('hello')
    assert.equal(answer.status, 503)
    assert.equal(answer.json.code, 'UNAVAILABLE')
    upload.end(bytes.subarray(0, 1))
    assert.equal(await ended, 200)
    assert.equal((await other.put('hello')).status, 200)
  })

  test('answers INTERNAL with an id, and logs the error in full under that id only', async () => {
    await using broken = await Api.start()
    const { key } = await broken.account()
    const database = new DatabaseSync(join(broken.data, 'slipway.db'))
    database.exec('ALTER TABLE domains RENAME TO lost')
    const answer = await broken.request('GET', '/api/v1/domains', { key })
    assert.equal(answer.status, 500)
    assert.equal(answer.json.code, 'INTERNAL')
    const [id] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(answer.json.error)!
    assert.equal(answer.headers['x-request-id'], id)
    const logged = broken.running.log.find(({ level, request }) => level === 'error' && request === id)
    assert.match(`${logged?.error}`, /no such table: domains/)
    assert.match(`${logged?.error}`, /\n +at /)
    database.exec('ALTER TABLE lost RENAME TO domains')
    database.close()
    assert.equal((await broken.request('GET', '/api/v1/domains', { key })).status, 200)
  })

  test('sends rate limit headers even when it cannot count', async () => {
    await using broken = await Api.start()
    const { siteUrl } = await broken.publish(broken.anonymous, { 'index.html': 'home' })
    assert.equal((await broken.visit(siteUrl)).status, 200)
    const database = new DatabaseSync(join(broken.data, 'slipway.db'))
    database.exec('ALTER TABLE counters RENAME TO lost')
    for (const target of ['/api/v1/publishes', '/api/nowhere', '/api/openapi.json']) {
      broken.pass(2000)
      assert.equal((await broken.request('GET', target)).status, 500)
    }
    assert.equal((await broken.visit(siteUrl)).text, 'home')
    database.close()
  })

  test('answers INSUFFICIENT_STORAGE when its disk is full, keeps no bytes, and stays available', async () => {
    await using small = await ServiceOnSmallDisk.start(8 * 2 ** 20)
    const { siteUrl } = await small.client.publish({
      files: [{ ...toEntry('index.html', 'home'), open: () => Buffer.from('home') }],
    })
    const large = Buffer.alloc(20 * 2 ** 20, 'x')
    const { slug, upload } = await small.client.create({ files: [toEntry('large.bin', large)] })
    const answer = await small.put(upload.uploads[0]!, large)
    assert.equal(answer.status, 507, answer.text)
    assert.equal(answer.json.code, 'INSUFFICIENT_STORAGE')
    assert.match(`${answer.headers['x-ratelimit-limit']}`, /^\d+$/)
    assert.deepEqual(await small.staged(), [])
    assert.equal((await small.visit(siteUrl)).text, 'home')
    await assert.rejects(small.client.finalize(slug, upload), { code: 'UPLOADS_MISSING' })
    const archive = await small.archive(large)
    assert.equal(archive.json.code, 'INSUFFICIENT_STORAGE')
    const next = Buffer.from('next')
    const { siteUrl: nextUrl } = await small.client.publish({
      files: [{ ...toEntry('index.html', next), open: () => next }],
    })
    assert.equal((await small.visit(nextUrl)).text, 'next')
  })
})

describe('a method', () => {
  test('that a path does not support is 405 with Allow, whatever the body is', async () => {
    const { paths } = api.conformance!.document
    for (const [template, operations] of Object.entries(paths)) {
      const target = template
        .replace('{slug}', 'some-site-234567')
        .replace('{*}', 'a/b.txt')
        .replace(/\{\w+\}/g, 'x')
      const known = Object.keys(operations).map((method) => method.toUpperCase())
      const allowed = [...known, ...(known.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].sort()
      for (const method of METHODS) {
        if (allowed.includes(method) || method === 'CONNECT') continue
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
      const [get, head] = await Promise.all(
        ['GET', 'HEAD'].map((method) => api.request(method, target, { key: owner.key })),
      )
      assert.equal(head!.status, get!.status, target)
      assert.equal(head!.headers['content-type'], get!.headers['content-type'])
      assert.equal(head!.body.length, 0)
    }
  })
})

describe('a URL', () => {
  const nowhere = [
    '/api/',
    '/api/v1',
    '/api/v1/',
    '/api/v2/publish',
    '/api/v1/publish/',
    '/api/v1/Publish',
    '/api/v1/publishes/',
    '/api/v1/publish/a/b',
    '/api/v1/publish/a/finalize/b',
    '/api/v1/publish//finalize',
    '/api//v1/me',
    '/api/v1/%zz',
    '/api/v1/publish/%',
    '/api/v1/publish/%E0%A4%A',
    '/api/v1/publish/%ff/finalize',
    '/api/v1/me?%zz',
    `/api/v1/${'x'.repeat(5000)}`,
    '/api/../v1/me',
    '/api/v1/me/..',
    '/api/__proto__',
    '/api/v1/publish/constructor/toString',
  ]
  for (const target of nowhere) {
    test(`that matches no route is NOT_FOUND: ${target.slice(0, 40)}`, async () => {
      for (const method of ['POST', 'PUT', 'DELETE']) {
        const { status } = await api.request(method, target)
        assert.ok(status >= 400 && status < 500, `${method} ${target}: ${status}`)
      }
      const answer = await api.request('GET', target, { key: owner.key })
      if (target === '/api/v1/me?%zz') assert.equal(answer.status, 200)
      else assert.equal(answer.json.code, 'NOT_FOUND')
    })
  }

  test('outside of the API that matches no route is a page for a browser and JSON for a program', async () => {
    for (const target of ['/nowhere', '/apix', '/%zz', '/%ff', '/api', `/${'x'.repeat(5000)}`]) {
      const headers = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
      const page = await api.request('GET', target, { headers })
      assert.equal(page.status, 404, target)
      assert.match(page.headers['content-type']!, /^text\/html/, target)
      for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }]) {
        const { json } = await api.request('GET', target, { headers })
        assert.equal(json.code, 'NOT_FOUND', target)
        assert.match(json.docs, /\/docs#NOT_FOUND$/)
      }
    }
    assert.equal((await api.request('POST', '/publish', { json: {} })).json.code, 'NOT_FOUND')
  })

  test('that takes an archive names all types that it accepts', async () => {
    for (const [target, accepted] of [
      ['/api/v1/publish', 'application/json, application/zip, application/x-tar or application/gzip'],
      ['/api/auth/agent/request-code', 'application/json'],
    ] as const) {
      const headers = { 'content-type': 'application/octet-stream' }
      const { status, json } = await api.request('POST', target, { headers, body: 'x' })
      assert.deepEqual(
        [status, json.error],
        [415, `This call accepts ${accepted}, not application/octet-stream`],
      )
    }
  })
})

test('a client that is still sending can read why it was refused', async () => {
  const pieces = () => Readable.from(Array.from({ length: 56 }, () => Buffer.alloc(64 * 1024, 'x')))
  const calls: [target: string, type: string, code: ErrorCode][] = [
    ['/api/v1/publish', 'application/json', 'PAYLOAD_TOO_LARGE'],
    ['/api/v1/publish', 'text/plain', 'UNSUPPORTED_MEDIA_TYPE'],
    ['/api/v1/me', 'application/json', 'METHOD_NOT_ALLOWED'],
    ['/api/nowhere', 'application/json', 'NOT_FOUND'],
    ['/api/v1/publish/no-such-site-234567/claim', 'application/json', 'UNAUTHORIZED'],
  ]
  for (const [target, type, code] of calls) {
    const answer = await api.request('POST', target, { body: pieces(), headers: { 'content-type': type } })
    assert.equal(answer.json.code, code)
  }
})
