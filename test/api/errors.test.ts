import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { METHODS, request } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { ErrorCode } from '../../protocol/api/errors.ts'
import type { ApiResponse } from './answer.ts'
import { type Account, Api, DAY_MS, HOUR_MS, toTarget } from './api.ts'
import { toEntry, toManifest } from './content.ts'
import { STATUS_BY_CODE } from './promises.ts'
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

/** A site that waits for one file of five bytes. */
async function waiting(more: object = {}) {
  const files = [{ ...toEntry('a.txt', 'hello'), ...more }]
  const { slug, upload } = await owner.client.create({ files })
  const [target] = upload.uploads
  const put = (body: string, headers: Record<string, string> = {}) =>
    api.ask('PUT', toTarget(target!.url), { body, headers: { ...target!.headers, ...headers } })
  return { slug, upload, target: target!, put }
}

const live = () => api.publish(owner.client, { 'index.html': 'x' })

/** Every code of the contract that a caller can bring about, and how. */
const provocations: [code: ErrorCode, how: string, provoke: () => Promise<ApiResponse>][] = [
  [
    'VALIDATION_ERROR',
    'a manifest that breaks a rule',
    () => api.ask('POST', '/api/v1/publish', json({ files: [] })),
  ],
  [
    'INVALID_JSON',
    'a body that is not JSON',
    () => api.ask('POST', '/api/v1/publish', { body: '{', headers: { 'content-type': 'application/json' } }),
  ],
  [
    'INVALID_CODE',
    'a wrong code',
    () => api.ask('POST', '/api/auth/agent/verify-code', { json: { email: 'a@example.org', code: 'x' } }),
  ],
  ['SIZE_MISMATCH', 'bytes of another length', async () => (await waiting()).put('hello!')],
  ['HASH_MISMATCH', 'other bytes', async () => (await waiting()).put('jello')],
  [
    'CONTENT_TYPE_MISMATCH',
    'bytes of another type',
    async () => (await waiting()).put('hello', { 'content-type': 'text/html' }),
  ],
  ['UNAUTHORIZED', 'no key', () => api.ask('GET', '/api/v1/publishes')],
  [
    'INVALID_CLAIM_TOKEN',
    'a wrong claim token',
    async () => {
      const { slug } = await api.publish(api.anonymous, { 'index.html': 'x' })
      return api.ask('POST', site(slug, '/claim'), json({ claimToken: 'x' }))
    },
  ],
  [
    'INVALID_UPLOAD_TOKEN',
    'a changed upload address',
    async () => api.ask('PUT', `${toTarget((await waiting()).target.url)}0`, { body: 'hello' }),
  ],
  [
    'DOMAIN_LIMIT_REACHED',
    'more domains than the plan has',
    async () => {
      const { client, key } = await api.account()
      const { slug } = await api.publish(client, { 'index.html': 'x' })
      await client.addDomain('one.example.com', slug)
      return api.ask('POST', '/api/v1/domains', json({ domain: 'two.example.com', siteSlug: slug }, key))
    },
  ],
  [
    'NOT_FOUND',
    'a site that is not there',
    () => api.ask('GET', site('no-such-site-234567'), { key: owner.key }),
  ],
  ['NOT_FOUND', 'a route that is not there', () => api.ask('GET', '/api/v2/publish')],
  ['METHOD_NOT_ALLOWED', 'a method that is not known', () => api.ask('PATCH', '/api/v1/publish')],
  [
    'UPLOADS_MISSING',
    'a finalize too early',
    async () => {
      const { slug, upload } = await waiting()
      return api.ask('POST', site(slug, '/finalize'), json({ versionId: upload.versionId }))
    },
  ],
  [
    'VERSION_CONFLICT',
    'an update of a version that is not live any more',
    async () => {
      const files = toManifest({ 'index.html': 'y' })
      return api.ask('PUT', site((await live()).slug), json({ files, baseVersionId: 'x' }))
    },
  ],
  [
    'ALREADY_CLAIMED',
    'a claim of somebody else’s site',
    async () => {
      const { slug, claimToken } = await api.publish(api.anonymous, { 'index.html': 'x' })
      await (await api.account()).client.claim(slug, claimToken!)
      return api.ask('POST', site(slug, '/claim'), json({ claimToken }))
    },
  ],
  [
    'SITE_PENDING',
    'a duplicate of what was never finalized',
    async () => api.ask('POST', site((await waiting()).slug, '/duplicate'), { key: owner.key }),
  ],
  [
    'DOMAIN_TAKEN',
    'a domain that is there already',
    async () => {
      const { client, key } = await api.account()
      const { slug } = await api.publish(client, { 'index.html': 'x' })
      await client.addDomain('one.example.com', slug)
      return api.ask('POST', '/api/v1/domains', json({ domain: 'one.example.com', siteSlug: slug }, key))
    },
  ],
  [
    'VERSION_LIVE',
    'deleting the live version',
    async () => {
      const { slug, versionId } = await live()
      return api.ask('DELETE', site(slug, `/versions/${versionId}`), { key: owner.key })
    },
  ],
  [
    'SITE_EXPIRED',
    'a claim too late',
    async () => {
      const { slug, claimToken } = await api.publish(api.anonymous, { 'index.html': 'x' })
      api.pass(DAY_MS)
      return api.ask('POST', site(slug, '/claim'), json({ claimToken }))
    },
  ],
  [
    'UPLOAD_EXPIRED',
    'an upload too late',
    async () => {
      const { put } = await waiting()
      api.pass(HOUR_MS)
      return put('hello')
    },
  ],
  [
    'PAYLOAD_TOO_LARGE',
    'a body that is too large',
    () => api.ask('POST', '/api/v1/publish', json({ filler: 'x'.repeat(2 ** 21) })),
  ],
  [
    'UNSUPPORTED_MEDIA_TYPE',
    'a body of another kind',
    () => api.ask('POST', '/api/v1/publish', { body: 'x', headers: { 'content-type': 'text/plain' } }),
  ],
  [
    'RATE_LIMITED',
    'a sixth code in an hour',
    async () => {
      const ask = () =>
        api.ask('POST', '/api/auth/agent/request-code', { json: { email: 'often@example.org' } })
      for (let round = 0; round < 5; round++) await ask()
      return ask()
    },
  ],
]

describe('a failure has its code and its status, and says in a sentence what is wrong', () => {
  for (const [code, how, provoke] of provocations) {
    test(`${STATUS_BY_CODE[code]} ${code}: ${how}`, async () => {
      const { status, json } = await provoke()
      assert.equal(json.code, code)
      assert.equal(status, STATUS_BY_CODE[code])
      assert.match(json.error, /^[\p{L}\d'"].{10,300}$/u)
    })
  }

  test('and none is left out but those of a service in trouble or a slow client (slow-bodies.test.ts)', () => {
    const provoked = new Set(provocations.map(([code]) => code))
    const others = Object.keys(STATUS_BY_CODE).filter((code) => !provoked.has(code as ErrorCode))
    assert.deepEqual(others.sort(), ['INSUFFICIENT_STORAGE', 'INTERNAL', 'REQUEST_TIMEOUT', 'UNAVAILABLE'])
  })
})

describe('a service in trouble', () => {
  test('says UNAVAILABLE and when to come back, while more uploads come than it takes', async () => {
    const bytes = Buffer.alloc(300 * 1024, 'x')
    const [slow, other] = [await waiting(toEntry('a.bin', bytes)), await waiting()]
    const upload = request(slow.target.url.replace('localhost', '127.0.0.1'), {
      method: 'PUT',
      headers: { ...slow.target.headers, 'Content-Length': `${bytes.length}` },
    })
    upload.on('error', () => undefined)
    const ended = new Promise((resolve) => {
      upload.on('response', (answer) => resolve(answer.resume().statusCode))
    })
    upload.write(bytes.subarray(1))
    // It is under way once its file is there.
    const folder = join(api.data, 'blobs', 'staged', slow.upload.versionId)
    while ((await readdir(folder).catch(() => [])).length === 0) await setImmediate()
    const answer = await other.put('hello')
    assert.equal(answer.status, 503)
    assert.equal(answer.json.code, 'UNAVAILABLE')
    upload.end(bytes.subarray(0, 1))
    assert.equal(await ended, 200)
    assert.equal((await other.put('hello')).status, 200)
  })

  test('says INTERNAL with the id under which the log has it all, and tells the caller nothing of it', async () => {
    await using broken = await Api.start()
    const { key } = await broken.account()
    const database = new DatabaseSync(join(broken.data, 'slipway.db'))
    database.exec('ALTER TABLE domains RENAME TO lost')
    const answer = await broken.ask('GET', '/api/v1/domains', { key })
    assert.equal(answer.status, 500)
    assert.equal(answer.json.code, 'INTERNAL')
    const [id] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(answer.json.error)!
    assert.equal(answer.headers['x-request-id'], id)
    const logged = broken.running.log.find(({ level, request }) => level === 'error' && request === id)
    assert.match(`${logged?.error}`, /no such table: domains/)
    assert.match(`${logged?.error}`, /\n +at /)
    database.exec('ALTER TABLE lost RENAME TO domains')
    database.close()
    assert.equal((await broken.ask('GET', '/api/v1/domains', { key })).status, 200)
  })

  test('tells its limits even when it cannot count', async () => {
    await using broken = await Api.start()
    const { siteUrl } = await broken.publish(broken.anonymous, { 'index.html': 'home' })
    assert.equal((await broken.visit(siteUrl)).status, 200)
    const database = new DatabaseSync(join(broken.data, 'slipway.db'))
    database.exec('ALTER TABLE counters RENAME TO lost')
    for (const target of ['/api/v1/publishes', '/api/nowhere', '/api/openapi.json']) {
      broken.pass(2000)
      assert.equal((await broken.ask('GET', target)).status, 500)
    }
    assert.equal((await broken.visit(siteUrl)).text, 'home')
    database.close()
  })

  test('says INSUFFICIENT_STORAGE when its disk is full, keeps nothing of it, and goes on', async () => {
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
  test('that a path does not know is 405, and Allow names those it does; whatever the body is', async () => {
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
        const answer = await api.ask(method, target, sends ? body : {})
        assert.equal(answer.status, 405, `${method} ${target}`)
        assert.deepEqual(answer.headers.allow!.split(', ').sort(), allowed, `${method} ${target}`)
        if (method !== 'HEAD') assert.equal(answer.json.code, 'METHOD_NOT_ALLOWED')
      }
    }
  })

  test('HEAD is answered wherever GET is, without a body', async () => {
    for (const target of ['/api/v1/me', '/api/v1/publishes', '/api/v1/domains', '/api/openapi.json']) {
      const [get, head] = await Promise.all(
        ['GET', 'HEAD'].map((method) => api.ask(method, target, { key: owner.key })),
      )
      assert.equal(head!.status, get!.status, target)
      assert.equal(head!.headers['content-type'], get!.headers['content-type'])
      assert.equal(head!.body.length, 0)
    }
  })
})

describe('an address', () => {
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
    test(`that leads nowhere is NOT_FOUND: ${target.slice(0, 40)}`, async () => {
      for (const method of ['POST', 'PUT', 'DELETE']) {
        const { status } = await api.ask(method, target)
        assert.ok(status >= 400 && status < 500, `${method} ${target}: ${status}`)
      }
      const answer = await api.ask('GET', target, { key: owner.key })
      if (target === '/api/v1/me?%zz') assert.equal(answer.status, 200)
      else assert.equal(answer.json.code, 'NOT_FOUND')
    })
  }

  test('outside of the API that leads nowhere is a page for people', async () => {
    for (const target of ['/nowhere', '/apix', '/%zz', '/%ff', '/api', `/${'x'.repeat(5000)}`]) {
      const answer = await api.ask('GET', target)
      assert.equal(answer.status, 404, target)
      assert.match(answer.headers['content-type']!, /^text\/html/, target)
    }
  })
})

test('a client that is still sending reads why it was refused', async () => {
  const pieces = () => Readable.from(Array.from({ length: 56 }, () => Buffer.alloc(64 * 1024, 'x')))
  const calls: [target: string, type: string, code: ErrorCode][] = [
    ['/api/v1/publish', 'application/json', 'PAYLOAD_TOO_LARGE'],
    ['/api/v1/publish', 'text/plain', 'UNSUPPORTED_MEDIA_TYPE'],
    ['/api/v1/me', 'application/json', 'METHOD_NOT_ALLOWED'],
    ['/api/nowhere', 'application/json', 'NOT_FOUND'],
    ['/api/v1/publish/no-such-site-234567/claim', 'application/json', 'UNAUTHORIZED'],
  ]
  for (const [target, type, code] of calls) {
    const answer = await api.ask('POST', target, { body: pieces(), headers: { 'content-type': type } })
    assert.equal(answer.json.code, code)
  }
})
