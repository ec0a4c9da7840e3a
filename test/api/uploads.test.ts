import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import type { FileEntry, UploadTarget } from '../../protocol/api/publish.ts'
import { type Account, Api, HOUR_MS, toTarget } from './api.ts'
import { sha256, toEntry } from './content.ts'
import { assertNothingKept, createPendingUpload, type PendingUpload, send } from './upload-fixture.ts'

const KIB = 2 ** 10
const MIB = 2 ** 20

let api: Api
let owner: Account
before(async () => {
  api = await Api.start()
  owner = await api.account()
})
after(() => api[Symbol.asyncDispose]())

const createUpload = (entry: FileEntry) => createPendingUpload(owner, entry)
const put = (target: UploadTarget, body: string | Buffer | Readable, headers = {}) =>
  send(api, target, body, headers)
const assertNothingStored = (upload: PendingUpload) => assertNothingKept(api, owner, upload)

describe('an upload', () => {
  for (const size of [1, 4096, 256 * KIB, 256 * KIB + 1, 3 * MIB + 7]) {
    test(`of ${size} bytes returns its size and hash`, async () => {
      const bytes = randomBytes(size)
      const { slug, siteUrl, versionId, target } = await createUpload(toEntry('file.bin', bytes))
      const { status, json } = await put(target, bytes)
      assert.equal(status, 200)
      assert.deepEqual(json, { path: 'file.bin', size, hash: sha256(bytes) })
      await owner.client.finalize(slug, { versionId })
      assert.deepEqual((await api.visit(siteUrl, '/file.bin')).body, bytes)
    })

    test(`of ${size} bytes can be sent in chunks, without a Content-Length`, async () => {
      const bytes = randomBytes(size)
      const { target } = await createUpload(toEntry('file.bin', bytes))
      const half = Math.ceil(size / 2)
      const { status, json } = await put(
        target,
        Readable.from([bytes.subarray(0, half), bytes.subarray(half)]),
      )
      assert.equal(status, 200)
      assert.equal(json.hash, sha256(bytes))
    })
  }

  for (const type of [
    'application/json',
    'text/html; charset=utf-8',
    'text/html;charset="utf-8"; a="b; \\" c"',
    'TEXT/HTML',
    "a!#$&-^_.+'/b%*`|~",
    `text/${'x'.repeat(250)}`,
    'application/zip',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
    'text/plain',
  ]) {
    test(`of ${type.slice(0, 40)} is stored as its bytes`, async () => {
      const body = '{"not": json &='
      const { target } = await createUpload({ path: 'file', size: body.length, contentType: type })
      const { status, json } = await put(target, body)
      assert.equal(status, 200)
      assert.equal(json.hash, sha256(body))
    })
  }

  test('of more JSON than an API body can have is stored like any other', async () => {
    const body = JSON.stringify('x'.repeat(3 * MIB))
    const { target } = await createUpload(toEntry('large.json', body))
    assert.equal((await put(target, body)).status, 200)
  })

  test('supports Expect: 100-continue, as curl sends it for large files', async () => {
    const bytes = randomBytes(400 * KIB)
    const { target } = await createUpload(toEntry('a.bin', bytes))
    const url = target.url.replace('localhost', '127.0.0.1')
    const headers = { ...target.headers, 'Content-Length': bytes.length, Expect: '100-continue' }
    const outgoing = request(url, { method: 'PUT', headers, agent: false })
    outgoing.on('continue', () => outgoing.end(bytes))
    outgoing.flushHeaders()
    const [incoming] = await once(outgoing, 'response')
    incoming.resume()
    assert.equal(incoming.statusCode, 200)
  })

  test('needs no key, and ignores one', async () => {
    const { target } = await createUpload(toEntry('a.txt', 'hello'))
    for (const authorization of ['Bearer nothing', 'Basic x', '']) {
      assert.equal((await put(target, 'hello', { authorization })).status, 200)
    }
  })

  test('can be repeated until finalize; the last one counts', async () => {
    const entry = { path: 'a.txt', size: 5, contentType: 'text/plain' }
    const { slug, siteUrl, versionId, target } = await createUpload(entry)
    for (const bytes of ['first', 'again', 'third', 'first', 'final']) {
      assert.equal((await put(target, bytes)).json.hash, sha256(bytes))
    }
    await owner.client.finalize(slug, { versionId })
    assert.equal((await api.visit(siteUrl, '/a.txt')).text, 'final')
  })

  test('can be sent many times at once: one succeeds, and the replaced ones are refused', async () => {
    const bytes = randomBytes(300 * KIB)
    const { slug, siteUrl, versionId, target } = await createUpload(toEntry('a.bin', bytes))
    const answers = await Promise.all(Array.from({ length: 8 }, () => put(target, bytes)))
    assert.ok(answers.some(({ status }) => status === 200))
    for (const { status, json } of answers) if (status !== 200) assert.equal(json.code, 'UPLOAD_EXPIRED')
    await owner.client.finalize(slug, { versionId })
    assert.deepEqual((await api.visit(siteUrl, '/a.bin')).body, bytes)
  })

  test('is UPLOAD_EXPIRED after finalize, and changes nothing', async () => {
    const entry = { path: 'a.txt', size: 5, contentType: 'text/plain' }
    const { slug, siteUrl, versionId, target } = await createUpload(entry)
    await put(target, 'right')
    await owner.client.finalize(slug, { versionId })
    const late = await put(target, 'wrong')
    assert.equal(late.status, 410)
    assert.equal(late.json.code, 'UPLOAD_EXPIRED')
    assert.equal((await api.visit(siteUrl, '/a.txt')).text, 'right')
  })

  test('is UPLOAD_EXPIRED when its version or its site is deleted', async () => {
    const one = await createUpload(toEntry('a.txt', 'hello'))
    await owner.client.deleteVersion(one.slug, one.versionId)
    assert.equal((await put(one.target, 'hello')).json.code, 'UPLOAD_EXPIRED')
    const other = await createUpload(toEntry('a.txt', 'hello'))
    await owner.client.delete(other.slug)
    assert.equal((await put(other.target, 'hello')).json.code, 'UPLOAD_EXPIRED')
  })
})

describe('an upload URL', () => {
  test('works for an hour, and not a millisecond longer', async () => {
    const { target } = await createUpload(toEntry('a.txt', 'hello'))
    const expires = Number(new URL(target.url).searchParams.get('exp')) * 1000
    assert.ok(expires - api.clock.now <= HOUR_MS && expires - api.clock.now > HOUR_MS - 1000)
    api.pass(expires - api.clock.now - 1)
    assert.equal((await put(target, 'hello')).status, 200)
    api.pass()
    const late = await put(target, 'hello')
    assert.equal(late.status, 410)
    assert.equal(late.json.code, 'UPLOAD_EXPIRED')
  })

  test('is refused with any of its bytes changed or left out', async () => {
    const path = 'dir/a ü.txt'
    const pending = await createUpload(toEntry(path, 'hello'))
    const target = toTarget(pending.target.url)
    const start = '/api/v1/_upload/'.length
    for (let at = start; at < target.length; at++) {
      const other = target[at] === '1' ? '2' : '1'
      for (const changed of [
        target.slice(0, at) + other + target.slice(at + 1),
        target.slice(0, at) + target.slice(at + 1),
      ]) {
        const { status, json } = await api.request('PUT', changed, {
          body: 'hello',
          headers: pending.target.headers,
        })
        // A URL that is not percent-encoded UTF-8 any more matches no route.
        const refusal = json.code === 'NOT_FOUND' ? 404 : 403
        assert.equal(status, refusal, `${changed} at ${at}`)
        if (refusal === 403) assert.equal(json.code, 'INVALID_UPLOAD_TOKEN', changed)
      }
    }
    await assertNothingStored(pending)
  })

  test('is refused when its parts belong to different URLs', async () => {
    const [one, other] = [
      await createUpload(toEntry('a.txt', 'hello')),
      await createUpload(toEntry('a.txt', 'hello')),
    ]
    api.pass(5000)
    const later = await owner.client.refresh(one.slug, { versionId: one.versionId })
    const parts = (url: string) => /^(.*\?)(token=.*)&(ct=.*)&(exp=.*)$/.exec(toTarget(url))!.slice(1)
    const [path, token, ct, exp] = parts(one.target.url)
    const [otherPath, otherToken] = parts(other.target.url)
    const [, , , laterExp] = parts(later.upload.uploads[0]!.url)
    const mixtures = {
      'the path of another site': `${otherPath}${token}&${ct}&${exp}`,
      'the token of another site': `${path}${otherToken}&${ct}&${exp}`,
      'a later expiry': `${path}${token}&${ct}&${laterExp}`,
      'no token': `${path}${ct}&${exp}`,
      'no type': `${path}${token}&${exp}`,
      'no expiry': `${path}${token}&${ct}`,
      nothing: path!.slice(0, -1),
      'an empty token': `${path}token=&${ct}&${exp}`,
      'an expiry with a plus': `${path}${token}&${ct}&${exp!.replace('=', '=%2B')}`,
      'an expiry with a fraction': `${path}${token}&${ct}&${exp}.0`,
      'an expiry with a zero': `${path}${token}&${ct}&${exp!.replace('=', '=0')}`,
      'an expiry with an exponent': `${path}${token}&${ct}&${exp}e0`,
      'an expiry that never comes': `${path}${token}&${ct}&exp=Infinity`,
    }
    for (const [what, target] of Object.entries(mixtures)) {
      const { status, json } = await api.request('PUT', target, {
        body: 'hello',
        headers: one.target.headers,
      })
      assert.equal(status, 403, what)
      assert.equal(json.code, 'INVALID_UPLOAD_TOKEN', what)
    }
    const twice = await api.request('PUT', `${path}${token}&${otherToken}&${ct}&${exp}`, {
      body: 'hello',
      headers: one.target.headers,
    })
    assert.equal(twice.status, 400)
    await assertNothingStored(one)
  })

  test('can have other characters percent-encoded, which is the same URL', async () => {
    const { target } = await createUpload(toEntry('a.txt', 'hello'))
    const url = target.url.replace('a.txt?', '%61%2Etxt?').replace('ct=text%2F', 'ct=text/')
    assert.notEqual(url, target.url)
    assert.equal((await put({ ...target, url }, 'hello')).status, 200)
  })

  test('is refused by a service with another secret', async () => {
    await using one = await Api.start({ SECRET: 'the first secret, which is long enough' })
    const { upload } = await one.anonymous.create({ files: [toEntry('a.txt', 'hello')] })
    const [target] = upload.uploads
    await using other = await Api.start({ SECRET: 'the second secret, it is long as well' })
    const answer = await other.request('PUT', toTarget(target!.url), {
      body: 'hello',
      headers: target!.headers,
    })
    assert.equal(answer.json.code, 'INVALID_UPLOAD_TOKEN')
  })

  for (const method of ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE']) {
    test(`refuses ${method}`, async () => {
      const { target } = await createUpload(toEntry('a.txt', 'hello'))
      const answer = await api.request(method, toTarget(target.url), { headers: target.headers })
      assert.equal(answer.status, 405)
      assert.equal(answer.headers.allow, 'PUT, OPTIONS')
    })
  }
})

describe('bytes that differ from the manifest', () => {
  const types = ['text/html', 'text/plain;charset=utf-8', 'text/plain; charset=utf-16', undefined]
  for (const type of types) {
    test(`are refused as CONTENT_TYPE_MISMATCH when they are sent as ${type ?? 'nothing'}`, async () => {
      const pending = await createUpload({ path: 'a.txt', size: 5, contentType: 'text/plain' })
      const headers = type === undefined ? {} : { 'content-type': type }
      const answer = await api.request('PUT', toTarget(pending.target.url), { body: 'hello', headers })
      assert.equal(answer.status, 400)
      assert.equal(answer.json.code, 'CONTENT_TYPE_MISMATCH')
      assert.match(answer.json.error, /text\/plain/)
      await assertNothingStored(pending)
    })
  }

  for (const size of [5, 300 * KIB]) {
    const right = randomBytes(size)
    const other = Buffer.from(right.map((byte, at) => (at === size - 1 ? byte ^ 1 : byte)))
    const cases: [sentence: string, body: () => Buffer | Readable, code: string][] = [
      ['of which one bit differs', () => other, 'HASH_MISMATCH'],
      ['of which one bit differs, in pieces', () => Readable.from([other]), 'HASH_MISMATCH'],
      ['a byte too long', () => Buffer.concat([right, Buffer.of(0)]), 'SIZE_MISMATCH'],
      ['a byte too long, in pieces', () => Readable.from([right, Buffer.of(0)]), 'SIZE_MISMATCH'],
      ['a byte too short', () => right.subarray(1), 'SIZE_MISMATCH'],
      ['a byte too short, in pieces', () => Readable.from([right.subarray(1)]), 'SIZE_MISMATCH'],
      ['that are none', () => Buffer.alloc(0), 'SIZE_MISMATCH'],
      ['that are none, in pieces', () => Readable.from([]), 'SIZE_MISMATCH'],
    ]
    for (const [sentence, body, code] of cases) {
      test(`of ${size}, ${sentence}, are refused as ${code}, and the right ones are accepted then`, async () => {
        const pending = await createUpload(toEntry('a.bin', right))
        const answer = await put(pending.target, body())
        assert.equal(answer.status, 400, answer.text)
        assert.equal(answer.json.code, code)
        await assertNothingStored(pending)
        assert.equal((await put(pending.target, right)).status, 200)
        await owner.client.finalize(pending.slug, { versionId: pending.versionId })
        assert.deepEqual((await api.visit(pending.siteUrl, '/a.bin')).body, right)
      })
    }

    test(`without an end are cut off soon after the declared ${size}`, async () => {
      const pending = await createUpload(toEntry('a.bin', right))
      let sent = 0
      const endless = Readable.from(
        (async function* () {
          for (; sent < 128 * MIB; sent += 64 * KIB) yield Buffer.alloc(64 * KIB)
        })(),
        { objectMode: false },
      )
      // A client that still sends may miss the response, because the connection ends soon after it.
      const answer = await put(pending.target, endless).catch(() => undefined)
      if (answer) assert.equal(answer.json.code, 'SIZE_MISMATCH')
      await assertNothingStored(pending)
      endless.destroy()
      assert.ok(sent < 64 * MIB, `${sent} bytes were taken in`)
    })
  }

  test('do not replace those of an earlier upload', async () => {
    const entry = { path: 'a.txt', size: 5, contentType: 'text/plain' }
    const { slug, siteUrl, versionId, target } = await createUpload(entry)
    await put(target, 'right')
    assert.equal((await put(target, 'wrong!')).json.code, 'SIZE_MISMATCH')
    assert.equal((await put(target, 'wrong', { 'content-type': 'text/html' })).status, 400)
    await owner.client.finalize(slug, { versionId })
    assert.equal((await api.visit(siteUrl, '/a.txt')).text, 'right')
  })
})
