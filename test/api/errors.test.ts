import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { METHODS } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { ErrorCode } from '../../protocol/api/errors.ts'
import { STATUS } from '../../server/lib/errors.ts'
import { pausedBody } from '../support/paused-body.ts'
import { KIB, MIB } from '../support/units.ts'
import { Api, startApi } from './api.ts'
import { buildTar } from './bundle-fixture.ts'
import { toEntry, toManifest } from './content.ts'
import { ServiceOnSmallDisk } from './small-disk.ts'
import { createPendingUpload, send } from './upload-fixture.ts'

const api = await startApi({ UPLOADS_AT_ONCE: '1' })
const owner = await api.account()

/** The error codes of the contract by status. */
const CODES: Record<number, ErrorCode[]> = {
  400: [
    'VALIDATION_ERROR',
    'INVALID_JSON',
    'INVALID_CODE',
    'SIZE_MISMATCH',
    'HASH_MISMATCH',
    'CONTENT_TYPE_MISMATCH',
  ],
  401: ['UNAUTHORIZED'],
  403: [
    'INVALID_CLAIM_TOKEN',
    'INVALID_UPLOAD_TOKEN',
    'DOMAIN_LIMIT_REACHED',
    'KEY_LIMIT_REACHED',
    'COLLABORATOR_LIMIT_REACHED',
    'OWNER_REQUIRED',
  ],
  404: ['NOT_FOUND'],
  405: ['METHOD_NOT_ALLOWED'],
  408: ['REQUEST_TIMEOUT'],
  409: [
    'UPLOADS_MISSING',
    'VERSION_CONFLICT',
    'ALREADY_CLAIMED',
    'SITE_PENDING',
    'DOMAIN_TAKEN',
    'VERSION_LIVE',
    'NAME_TAKEN',
  ],
  410: ['SITE_EXPIRED', 'UPLOAD_EXPIRED'],
  413: ['PAYLOAD_TOO_LARGE'],
  415: ['UNSUPPORTED_MEDIA_TYPE'],
  429: ['RATE_LIMITED'],
  500: ['INTERNAL'],
  503: ['UNAVAILABLE'],
  507: ['INSUFFICIENT_STORAGE'],
}

test('every error code has its status of the contract', () => {
  // Api checks the status of each response against the same table.
  const expected = Object.entries(CODES).flatMap(([status, codes]) =>
    codes.map((code) => [code, Number(status)]),
  )
  assert.deepEqual({ ...STATUS }, Object.fromEntries(expected))
})

describe('an overloaded or broken service', () => {
  test('answers UNAVAILABLE with Retry-After above the limit of concurrent uploads', async () => {
    const bytes = Buffer.alloc(300 * KIB, 'x')
    const [slow, other] = [
      await createPendingUpload(owner, toEntry('a.bin', bytes)),
      await createPendingUpload(owner, toEntry('a.txt', 'hello')),
    ]
    const { body, resume } = pausedBody(bytes.subarray(1), bytes.subarray(0, 1))
    const upload = send(api, slow.target, body)
    // The upload has started once its file exists.
    const folder = join(api.data, 'blobs', 'staged', slow.versionId)
    while ((await readdir(folder).catch(() => [])).length === 0) await setImmediate()
    assert.equal((await send(api, other.target, 'hello')).json.code, 'UNAVAILABLE')
    resume()
    assert.equal((await upload).status, 200)
    assert.equal((await send(api, other.target, 'hello')).status, 200)
  })

  test('answers INTERNAL with an id, and logs the error in full under that id only', async () => {
    await using broken = await Api.start()
    const { key } = await broken.account()
    const database = new DatabaseSync(join(broken.data, 'slipway.db'))
    database.exec('ALTER TABLE domains RENAME TO lost')
    const answer = await broken.request('GET', '/api/v1/domains', { key })
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

  test('answers INSUFFICIENT_STORAGE when its disk is full, keeps complete files only, and stays available', async () => {
    await using small = await ServiceOnSmallDisk.start(8 * MIB)
    const { siteUrl } = await small.client.publish({
      files: [{ ...toEntry('index.html', 'home'), open: () => Buffer.from('home') }],
    })
    const large = Buffer.alloc(20 * MIB, 'x')
    const { slug, upload } = await small.client.create({ files: [toEntry('large.bin', large)] })
    const answer = await small.put(upload.uploads[0]!, large)
    assert.equal(answer.json.code, 'INSUFFICIENT_STORAGE', answer.text)
    assert.match(`${answer.headers['x-ratelimit-limit']}`, /^\d+$/)
    assert.deepEqual(await small.staged(), [])
    assert.equal((await small.visit(siteUrl)).text, 'home')
    await assert.rejects(small.client.finalize(slug, upload), { code: 'UPLOADS_MISSING' })
    const archive = await small.archive(large)
    assert.equal(archive.json.code, 'INSUFFICIENT_STORAGE')
    const contents = { 'a.txt': 'small', 'large.bin': large, 'z.txt': 'late' }
    const created = await small.client.create({ files: toManifest(contents) })
    const bundle = { ...created.upload.bundle!, path: '' }
    assert.equal((await small.put(bundle, buildTar(contents))).json.code, 'INSUFFICIENT_STORAGE')
    assert.equal((await small.staged()).length, 1)
    assert.equal((await small.put(bundle, buildTar({ 'z.txt': 'late' }))).status, 200)
    await assert.rejects(small.client.finalize(created.slug, created.upload), {
      code: 'UPLOADS_MISSING',
      details: { missing: ['large.bin'], count: 1 },
    })
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
        .replace('{path}', 'a/b.txt')
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
      const [get, head] = await Promise.all(['GET', 'HEAD'].map((method) => owner.request(method, target)))
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
      const answer = await owner.request('GET', target)
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
      [
        '/api/v1/publish',
        'application/json, application/zip, application/x-tar, application/gzip or text/html',
      ],
      ['/api/auth/agent/request-code', 'application/json'],
    ] as const) {
      const headers = { 'content-type': 'application/octet-stream' }
      const { status, json } = await api.request('POST', target, { headers, body: 'x' })
      assert.deepEqual(
        [status, json.error],
        [415, `Unsupported Content-Type "application/octet-stream". Use ${accepted}.`],
      )
    }
  })
})

test('a client that is still sending can read why it was refused', async () => {
  const pieces = () => Readable.from(Array.from({ length: 96 }, () => Buffer.alloc(64 * 1024, 'x')))
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
