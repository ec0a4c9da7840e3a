import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import type { FileEntry } from '../../protocol/api/fields.schema.ts'
import type { UploadTarget } from '../../protocol/api/publish.schema.ts'
import { tarPart } from '../archive/tar-file.ts'
import { noise } from '../edge/fixture.ts'
import { pausedBody } from '../support/paused-body.ts'
import { pluck } from '../support/pluck.ts'
import { numbers } from '../support/random.ts'
import { KIB, MIB } from '../support/units.ts'
import { waitFor } from '../support/wait-for.ts'
import { Api, expectFailure, HOUR_MS, startApi, toTarget } from './api.ts'
import { sha256, toEntry } from './content.ts'
import { assertMissing, createPending, type PendingVersion, send, watchObjects } from './pending-version.ts'

const api = await startApi()
const owner = await api.account()

const createUpload = async (entry: FileEntry) => ({
  ...(await createPending(owner, [entry])),
  objects: await watchObjects(api),
})
const put = (target: Pick<UploadTarget, 'url' | 'headers'>, body: string | Buffer | Readable, headers = {}) =>
  send(api, target, body, headers)
const putTo = (target: string, { target: { headers } }: PendingVersion) =>
  api.request('PUT', target, { body: 'hello', headers })

/** Asserts that the file is missing at finalize and on the disk. */
async function assertNothingStored(upload: Awaited<ReturnType<typeof createUpload>>): Promise<void> {
  await assertMissing(owner, upload, [upload.target.path])
  await waitFor(async () => (await upload.objects.list()).length === 0)
}

describe('an upload', () => {
  for (const size of [1, 256 * KIB, 256 * KIB + 1, 3 * MIB + 7]) {
    test(`of ${size} bytes, whole or in chunks, returns its size and hash`, async () => {
      const bytes = randomBytes(size)
      const { slug, siteUrl, versionId, target } = await createUpload(toEntry('file.bin', bytes))
      const half = Math.ceil(size / 2)
      const chunks = Readable.from([bytes.subarray(0, half), bytes.subarray(half)])
      for (const body of [bytes, chunks]) {
        const { status, json } = await put(target, body)
        assert.equal(status, 200)
        assert.deepEqual(json, { path: 'file.bin', size, hash: sha256(bytes) })
      }
      await owner.client.finalize(slug, { versionId })
      assert.deepEqual((await api.visit(siteUrl, '/file.bin')).body, bytes)
    })
  }

  test('of any type is stored as its bytes, needs no key and ignores one', async () => {
    const types = [
      ...[
        'application/json',
        'text/html; charset=utf-8',
        'text/html;charset="utf-8"; a="b; \\" c"',
        'TEXT/HTML',
      ],
      ...["a!#$&-^_.+'/b%*`|~", 'application/zip', 'multipart/form-data; boundary=x'],
      'application/x-www-form-urlencoded',
    ]
    const body = '{"not": json &='
    const files = types.map((contentType, at) => ({ path: `${at}`, size: body.length, contentType }))
    const { upload } = await owner.client.create({ files })
    for (const target of upload.uploads) {
      const { status, json } = await put(target, body, { authorization: 'Bearer nothing' })
      assert.deepEqual([status, json.hash], [200, sha256(body)], `${types[Number(target.path)]}`)
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
    assert.equal(late.json.code, 'UPLOAD_EXPIRED')
  })

  test('is refused with any of its bytes changed', async () => {
    const pending = await createUpload(toEntry('dir/a ü.txt', 'hello'))
    const target = toTarget(pending.target.url)
    for (let at = '/api/v1/_upload/'.length; at < target.length; at++) {
      const changed = target.slice(0, at) + (target[at] === '1' ? '2' : '1') + target.slice(at + 1)
      const { status, json } = await putTo(changed, pending)
      // A URL that is not percent-encoded UTF-8 any more matches no route.
      const refusal = json.code === 'NOT_FOUND' ? [404, 'NOT_FOUND'] : [403, 'INVALID_UPLOAD_TOKEN']
      assert.deepEqual([status, json.code], refusal, `${changed} at ${at}`)
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
      nothing: path!.slice(0, -1),
      'an expiry with a plus': `${path}${token}&${ct}&${exp!.replace('=', '=%2B')}`,
      'an expiry that never comes': `${path}${token}&${ct}&exp=Infinity`,
    }
    for (const [what, target] of Object.entries(mixtures)) {
      const { json } = await putTo(target, one)
      assert.equal(json.code, 'INVALID_UPLOAD_TOKEN', what)
    }
    const twice = await putTo(`${path}${token}&${otherToken}&${ct}&${exp}`, one)
    assert.equal(twice.json.code, 'INVALID_UPLOAD_TOKEN')
    await assertNothingStored(one)
  })
})

describe('bytes that differ from the manifest', () => {
  for (const size of [1, 5, 300 * KIB]) {
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
    test(`of ${size} are refused, and the right ones are accepted then`, async () => {
      const pending = await createUpload(toEntry('a.bin', right))
      for (const [sentence, body, code] of cases) {
        const answer = await put(pending.target, body())
        assert.deepEqual([answer.status, answer.json.code], [400, code], sentence)
        assert.match(answer.json.error, /'a\.bin'/, sentence)
        assert.doesNotMatch(answer.json.error, /\b1 bytes/, sentence)
        await assertNothingStored(pending)
      }
      assert.equal((await put(pending.target, right)).status, 200)
      await owner.client.finalize(pending.slug, { versionId: pending.versionId })
      assert.deepEqual((await api.visit(pending.siteUrl, '/a.bin')).body, right)
    })

    test(`without an end are cut off soon after the declared ${size}`, async () => {
      const pending = await createUpload(toEntry('a.bin', right))
      let sent = 0
      const chunks = function* () {
        for (; sent < 128 * MIB; sent += 64 * KIB) yield Buffer.alloc(64 * KIB)
      }
      const endless = Readable.from(chunks(), { objectMode: false })
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

describe('an interrupted upload', () => {
  /** The bytes of the request. */
  function requestBytes({ target }: PendingVersion, bytes: Buffer, chunked: boolean): Buffer {
    const head = [
      `PUT ${toTarget(target.url)} HTTP/1.1`,
      'Host: localhost',
      `Content-Type: ${target.headers['Content-Type']}`,
      chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${bytes.length}`,
    ].join('\r\n')
    const size = Buffer.from(`${bytes.length.toString(16)}\r\n`)
    const body = chunked ? Buffer.concat([size, bytes, Buffer.from('\r\n0\r\n\r\n')]) : bytes
    return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), body])
  }

  for (const chunked of [false, true]) {
    test(`leaves nothing stored, interrupted in its head or at any byte${chunked ? ' of its chunks' : ''}`, async () => {
      const bytes = Buffer.from('every byte of this counts')
      const upload = await createUpload(toEntry('a.txt', bytes))
      const sent = requestBytes(upload, bytes, chunked)
      for (let at = 1; at < sent.length; at += at < sent.length - 100 ? 10 : 1) {
        const answer = await api.cutOff(sent.subarray(0, at))
        assert.doesNotMatch(answer, /^HTTP\/1\.1 2/, `cut off after ${at} of ${sent.length} bytes`)
      }
      await assertNothingStored(upload)
      assert.equal((await put(upload.target, bytes)).status, 200)
    })
  }

  test('leaves nothing stored after a broken connection, however large it is', async (context) => {
    const bytes = randomBytes(600 * KIB)
    const upload = await createUpload(toEntry('a.bin', bytes))
    const sent = requestBytes(upload, bytes, false)
    const next = numbers(context)
    for (let round = 0; round < 40; round++) await api.reset(sent.subarray(0, 1 + next(sent.length - 1)))
    await assertNothingStored(upload)
    assert.equal((await put(upload.target, bytes)).status, 200)
    await owner.client.finalize(upload.slug, { versionId: upload.versionId })
    assert.deepEqual((await api.visit(upload.siteUrl, '/a.bin')).body, bytes)
  })
})

// Limits what one address can store on the disk: each file once, and twice while it is uploaded again.

const SIZE = 600_000
const BYTES = noise(SIZE)
const HALF = BYTES.subarray(0, SIZE / 2)

describe('a newer upload of a file replaces one in progress', () => {
  test('even among many, of which the last one succeeds', async () => {
    const upload = await createUpload(toEntry('a.bin', BYTES))
    const bodies = Array.from({ length: 12 }, () => pausedBody(HALF, BYTES.subarray(SIZE / 2)))
    const answers = []
    for (const { body } of bodies) {
      const begun = upload.objects.begun()
      answers.push(put(upload.target, body))
      await waitFor(() => upload.objects.begun() > begun)
    }
    for (const answer of answers.slice(0, -1)) {
      const { status, json } = await answer
      assert.deepEqual([status, json.code], [410, 'UPLOAD_EXPIRED'])
      assert.match(json.error, /newer upload/)
    }
    for (const { resume } of bodies) resume()
    assert.equal((await answers.at(-1)!).status, 200)
    await waitFor(async () => (await upload.objects.list()).length === 1)
    await owner.client.finalize(upload.slug, { versionId: upload.versionId })
    assert.ok((await api.visit(upload.siteUrl, '/a.bin')).body.equals(BYTES))
  })

  test('and no upload of another version of the site', async () => {
    const { slug } = await api.publish(owner.client, { 'index.html': 'live' })
    const files = [toEntry('a.bin', BYTES)]
    const objects = await watchObjects(api)
    const answers = []
    const bodies = [1, 2].map(() => pausedBody(HALF, BYTES.subarray(SIZE / 2)))
    for (const { body } of bodies) {
      const { upload } = await owner.client.update(slug, { files })
      const begun = objects.begun()
      answers.push(put(upload.uploads[0]!, body))
      await waitFor(() => objects.begun() > begun)
    }
    for (const { resume } of bodies) resume()
    assert.deepEqual(pluck(await Promise.all(answers), 'status'), [200, 200])
  })

  test('and keeps an earlier complete copy until the new one is complete', async () => {
    const upload = await createUpload(toEntry('a.bin', BYTES))
    assert.equal((await put(upload.target, BYTES)).status, 200)
    const [first, second] = [pausedBody(HALF, HALF), pausedBody(HALF, BYTES)]
    const older = put(upload.target, first.body)
    await waitFor(() => upload.objects.begun() === 2)
    const newer = put(upload.target, second.body)
    assert.equal((await older).status, 410)
    for (const { resume } of [first, second]) resume()
    assert.equal((await newer).json.code, 'SIZE_MISMATCH')
    await waitFor(async () => (await upload.objects.list()).length === 1)
    await owner.client.finalize(upload.slug, { versionId: upload.versionId })
  })

  test('also in a bundle, by another bundle or a single upload', async () => {
    const { upload } = await owner.client.create({ files: [toEntry('a.bin', BYTES)] })
    const objects = await watchObjects(api)
    const [target] = upload.uploads
    const part = tarPart({ name: 'a.bin', data: BYTES })
    const bodies = [1, 2].map(() => pausedBody(part.subarray(0, SIZE / 2), part.subarray(SIZE / 2)))
    const answers = []
    for (const { body } of bodies) {
      const begun = objects.begun()
      answers.push(put(upload.bundle!, body))
      await waitFor(() => objects.begun() > begun)
    }
    assert.deepEqual([(await answers[0])!.status, (await answers[0])!.json.code], [410, 'UPLOAD_EXPIRED'])
    assert.equal((await put(target!, BYTES)).status, 200)
    assert.equal((await answers[1])!.status, 410)
    for (const { resume } of bodies) resume()
    await waitFor(async () => (await objects.list()).length === 1)
  })
})

test('uploads to a finalized version are refused before their body', async () => {
  const upload = await createUpload(toEntry('a.bin', BYTES))
  await put(upload.target, BYTES)
  await owner.client.finalize(upload.slug, { versionId: upload.versionId })
  const { body, resume } = pausedBody(BYTES.subarray(0, 1), BYTES.subarray(1))
  const late = await put(upload.target, body, { 'content-length': `${SIZE}` })
  assert.equal(late.json.code, 'UPLOAD_EXPIRED')
  resume()
})

test('an upload in progress is refused when its version is deleted', async () => {
  const upload = await createUpload(toEntry('a.bin', BYTES))
  const { body, resume } = pausedBody(HALF, BYTES.subarray(SIZE / 2))
  const late = put(upload.target, body)
  await waitFor(() => upload.objects.begun() === 1)
  await owner.client.deleteVersion(upload.slug, upload.versionId)
  resume()
  assert.deepEqual([(await late).status, (await late).json.code], [410, 'UPLOAD_EXPIRED'])
  await expectFailure(owner.client.finalize(upload.slug, { versionId: upload.versionId }), 'NOT_FOUND')
  await api.sweep('blobs')
  assert.deepEqual(await upload.objects.list(), [])
})

test('networks without an account leave places for the uploads and archives of accounts', async () => {
  await using service = await Api.start({ UPLOADS_AT_ONCE: '4', TRUSTED_PROXIES: '1' })
  const account = await service.account()
  const from = (network: number) => ({ 'x-forwarded-for': `10.0.${network}.1` })
  const bytes = Buffer.alloc(300 * KIB, 'x')
  const files = [0, 1, 2].map((number) => toEntry(`${number}.bin`, bytes))
  const { upload } = await service.anonymous.create({ files })
  const own = await createPending(account, { 'a.txt': 'hello' })
  const objects = await watchObjects(service)
  const bodies = files.map(() => pausedBody(bytes.subarray(1), bytes.subarray(0, 1)))
  const held = bodies.map(({ body }, network) => send(service, upload.uploads[network]!, body, from(network)))
  await waitFor(() => objects.begun() === 3)
  const page = (key?: string) =>
    service.request('POST', '/api/v1/publish', {
      ...(key !== undefined && { key }),
      headers: { 'content-type': 'text/html', ...from(3) },
      body: '<h1>Hi</h1>',
    })
  assert.equal((await page()).status, 503)
  assert.equal((await page(account.key)).status, 201)
  assert.equal((await send(service, own.target, 'hello', from(3))).status, 200)
  for (const { resume } of bodies) resume()
  for (const answer of held) assert.equal((await answer).status, 200)
})
