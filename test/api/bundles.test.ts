import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import type { ErrorCode } from '../../protocol/api/errors.schema.ts'
import { INDEPENDENT } from '../../server/store/store.ts'
import { paxPart, TAR_END, tarPart } from '../archive/tar-file.ts'
import { numbers } from '../support/random.ts'
import { KIB, MIB } from '../support/units.ts'
import { waitFor } from '../support/wait-for.ts'
import { DAY_MS, expectFailure, HOUR_MS, startApi, toTarget } from './api.ts'
import { sha256, toManifest } from './content.ts'
import {
  assertPublished,
  buildTar,
  buildTarParts,
  createPending,
  missingPaths,
  type ObjectWatch,
  send,
  waitForMissing,
  watchObjects,
} from './pending-version.ts'

const api = await startApi()
const owner = await api.account()

const nothing = Buffer.alloc(0)

const SITE = { 'index.html': '<h1>Ahoy</h1>', 'css/style.css': 'h1 { color: teal }', 'a/b/c.txt': 'deep' }

describe('a bundle', () => {
  test('uploads many files in one request, and lists them in the order of the tar', async () => {
    const pending = await createPending(owner, SITE)
    assert.equal(pending.bundle.method, 'PUT')
    assert.deepEqual(pending.bundle.headers, { 'Content-Type': 'application/x-tar' })
    assert.equal(pending.bundle.maxBytes, 32 * MIB)
    const { status, json } = await send(api, pending.bundle, buildTar(SITE))
    assert.equal(status, 200)
    const files = Object.entries(SITE).map(([path, content]) => ({
      path,
      size: content.length,
      hash: sha256(content),
    }))
    assert.deepEqual(json, { files })
    await assertPublished(api, owner, pending, SITE)
  })

  test('stores no second copy of a file that the site has and no quota would count, unless the first is damaged', async () => {
    const { slug, siteUrl } = await api.publish(owner.client, SITE)
    const files = { ...SITE, 'new.txt': 'new' }
    const { upload } = await owner.client.update(slug, { files: toManifest(files) })
    const objects = await watchObjects(api)
    const { json } = await send(api, upload.bundle!, buildTar(files))
    assert.deepEqual(json.files, [{ path: 'new.txt', size: 3, hash: sha256('new') }])
    assert.equal((await objects.list()).length, 1)
    const { store } = await api.operator()
    const { object } = (await store.read.blobs.find(sha256(SITE['a/b/c.txt'])))!
    await store.write('relaxed', INDEPENDENT, (tx) => tx.blobs.markDamaged(object))
    const again = await send(api, upload.bundle!, buildTar(SITE))
    assert.deepEqual(again.json.files, [{ path: 'a/b/c.txt', size: 4, hash: sha256('deep') }])
    await assertPublished(api, owner, { slug, siteUrl, versionId: upload.versionId }, files)
  })

  const paths: [sentence: string, path: string, parts: (data: Buffer) => Buffer[]][] = [
    [
      'a path in the other Unicode form',
      'Öl.txt',
      (data) => [tarPart({ name: 'Öl.txt'.normalize('NFD'), data })],
    ],
    ['a path with ./ before it', 'a/b.txt', (data) => [tarPart({ name: './a/b.txt', data })]],
    [
      'folders before it',
      'a/b.txt',
      (data) => [tarPart({ name: 'a/', type: '5', data: nothing }), tarPart({ name: 'a/b.txt', data })],
    ],
    [
      'a junk file before it that is not in the manifest',
      'a/b.txt',
      (data) => [tarPart({ name: 'a/._b.txt' }), tarPart({ name: 'a/b.txt', data })],
    ],
    [
      'a path and a size by pax',
      'süß/日本 語.txt',
      (data) => [paxPart({ path: 'süß/日本 語.txt', size: `${data.length}` }), tarPart({ name: 'x', data })],
    ],
  ]
  test('can have names in every notation of tar, and entries that are no files', async () => {
    for (const [sentence, path, parts] of paths) {
      const data = Buffer.from(`the bytes of ${path}`)
      const pending = await createPending(owner, { [path]: data })
      const { status, json } = await send(api, pending.bundle, Buffer.concat([...parts(data), TAR_END]))
      assert.equal(status, 200, `${sentence}: ${JSON.stringify(json)}`)
      assert.deepEqual(json.files, [{ path, size: data.length, hash: sha256(data) }])
      await assertPublished(api, owner, pending, { [path]: data })
    }
  })
})

describe('the URL of bundles', () => {
  test('is refused with a changed field, the token of another version or that of a single file', async () => {
    const [mine, theirs] = [await createPending(owner, SITE), await createPending(owner, SITE)]
    const { upload } = await owner.client.refresh(mine.slug, mine)
    const target = toTarget(mine.bundle.url)
    const [path, query] = target.split('?') as [string, string]
    const [filePath, fileQuery] = toTarget(upload.uploads[0]!.url).split('?') as [string, string]
    const mixtures = [
      target.replace('exp=', 'exp=1'),
      target.replace('token=', 'token=0'),
      `${path}?${toTarget(theirs.bundle.url).split('?')[1]}`,
      `${path}?${fileQuery}`,
      `${filePath}?${query}&ct=application%2Fx-tar`,
      path,
    ]
    const sent = { body: buildTar(SITE), headers: mine.bundle.headers }
    for (const mixture of mixtures) {
      const { json } = await api.request('PUT', mixture, sent)
      assert.equal(json.code, 'INVALID_UPLOAD_TOKEN', mixture)
    }
    assert.equal((await missingPaths(owner, mine)).length, 3)
  })

  test('is valid for an hour, to the second', async () => {
    const pending = await createPending(owner, SITE)
    const expires = Number(new URL(pending.bundle.url).searchParams.get('exp')) * 1000
    assert.equal(expires, Math.floor(api.clock.now / 1000) * 1000 + HOUR_MS)
    api.clock.now = expires - 1
    assert.equal((await send(api, pending.bundle, buildTar(SITE))).status, 200)
    api.pass()
    const { status, json } = await send(api, pending.bundle, buildTar(SITE))
    assert.deepEqual([status, json.code], [410, 'UPLOAD_EXPIRED'])
  })

  test('is UPLOAD_EXPIRED after finalize, and SITE_EXPIRED when the site is expired', async () => {
    const done = await createPending(owner, SITE)
    await send(api, done.bundle, buildTar(SITE))
    await assertPublished(api, owner, done, SITE)
    assert.equal((await send(api, done.bundle, buildTar(SITE))).json.code, 'UPLOAD_EXPIRED')
    const { slug, siteUrl, claimToken } = await api.publish(api.anonymous, { 'index.html': 'x' })
    api.pass(DAY_MS - 10_000)
    const { upload } = await api.update(api.anonymous, slug, SITE, { claimToken: claimToken! })
    const anonymous = { slug, siteUrl, versionId: upload.versionId, bundle: upload.bundle! }
    const [first, ...rest] = buildTarParts(SITE)
    assert.equal((await send(api, anonymous.bundle, Buffer.concat([first!, TAR_END]))).status, 200)
    const sendOne = () => send(api, upload.uploads[0]!, Object.values(SITE)[0]!)
    assert.equal((await sendOne()).status, 200)
    api.pass(10_000)
    const late = await send(api, anonymous.bundle, Buffer.concat([...rest, TAR_END]))
    assert.equal(late.json.code, 'SITE_EXPIRED')
    assert.equal((await sendOne()).json.code, 'SITE_EXPIRED', 'a single file')
    await api.sweep('expired-sites')
    assert.equal((await sendOne()).json.code, 'SITE_EXPIRED', 'a single file, after the sweep')
    await expectFailure(api.anonymous.finalize(slug, { versionId: upload.versionId }), 'SITE_EXPIRED')
  })
})

/** Asserts that exactly this number of files is stored, once an interrupted request has ended. */
async function assertStored(objects: ObjectWatch, count: number): Promise<void> {
  await waitFor(async () => (await objects.list()).length <= count)
  assert.equal((await objects.list()).length, count)
}

const large = randomBytes(300 * KIB)
const PARTIAL = { 'good.txt': 'good', 'next.txt': 'next', 'large.bin': large, 'late.txt': 'late' }
const [good, , , late] = buildTarParts(PARTIAL) as [Buffer, Buffer, Buffer, Buffer]

/** An entry for next.txt that has other data, or is of another type. */
const next = (data: string, type = '0') => tarPart({ name: 'next.txt', type, data: Buffer.from(data) })

const refusals: [sentence: string, part: Buffer, message: RegExp, code?: ErrorCode][] = [
  ['is too long', next('next!'), /declares 4 bytes for 'next\.txt', but the bundle has 5/, 'SIZE_MISMATCH'],
  ['has other bytes', next('nexT'), /^'next\.txt': .*SHA-256/, 'HASH_MISMATCH'],
  ['is not in the manifest', tarPart({ name: 'who.txt' }), /^who\.txt: is not in the manifest/],
  ['comes a second time', good, /^good\.txt: occurs twice in the bundle/],
  ['is a hard link', next('', '1'), /next.*hard link/],
]

for (const [sentence, part, message, code = 'VALIDATION_ERROR'] of refusals) {
  test(`complete files of a bundle are kept, the rest is discarded and can be sent again, when a file ${sentence}`, async () => {
    const pending = await createPending(owner, PARTIAL)
    const objects = await watchObjects(api)
    const { json } = await send(api, pending.bundle, Buffer.concat([good, part, TAR_END]))
    assert.equal(json.code, code, json.error)
    assert.match(json.error, message)
    assert.deepEqual(await missingPaths(owner, pending), ['large.bin', 'late.txt', 'next.txt'])
    await assertStored(objects, 1)
    const { 'good.txt': _, ...rest } = PARTIAL
    assert.equal((await send(api, pending.bundle, buildTar(rest))).status, 200)
    await assertPublished(api, owner, pending, PARTIAL)
  })
}

describe('a bundle that ends', () => {
  const all = ['good.txt', 'large.bin', 'late.txt', 'next.txt']
  const ends: [sentence: string, body: Buffer[], kept: string[], message: RegExp][] = [
    ['without an end record', [good, late], ['good.txt', 'late.txt'], /incomplete/],
    ['in a file', [good, late.subarray(0, 514)], ['good.txt'], /late\.txt: is incomplete/],
    ['before another tar that follows it', [good, TAR_END, late], ['good.txt'], /data after its end/],
  ]
  for (const [sentence, body, kept, message] of ends) {
    test(`${sentence} is refused, and its complete files are kept`, async () => {
      const pending = await createPending(owner, PARTIAL)
      const { json } = await send(api, pending.bundle, Buffer.concat(body))
      assert.equal(json.code, 'VALIDATION_ERROR')
      assert.match(json.error, message)
      const missing = all.filter((path) => !kept.includes(path))
      assert.deepEqual(await missingPaths(owner, pending), missing)
    })
  }

  test('with its connection keeps its complete files, whatever the last byte', async (context) => {
    const random = numbers(context)
    const pending = await createPending(owner, PARTIAL)
    const body = buildTar(PARTIAL)
    const head = [
      `PUT ${toTarget(pending.bundle.url)} HTTP/1.1`,
      'Host: localhost',
      'Content-Type: application/x-tar',
      `Content-Length: ${body.length}`,
      '\r\n',
    ].join('\r\n')
    const objects = await watchObjects(api)
    for (let round = 0; round < 20; round++)
      await api.reset(Buffer.concat([Buffer.from(head), body.subarray(0, random(body.length - 3000))]))
    // A request that was reset may look up its version longer than the next one, which it then replaces.
    for (let tries = 0; tries < 5 && (await missingPaths(owner, pending)).length > 1; tries++)
      await api.cutOff(Buffer.concat([Buffer.from(head), body.subarray(0, -TAR_END.length - late.length)]))
    await waitForMissing(owner, pending, ['late.txt'])
    await assertStored(objects, 3)
    assert.equal((await send(api, pending.bundle, Buffer.concat([late, TAR_END]))).status, 200)
    await assertPublished(api, owner, pending, PARTIAL)
  })
})

describe('a bundle over its limit', () => {
  test('is refused before its body when Content-Length exceeds it', async () => {
    const pending = await createPending(owner, PARTIAL)
    const tar = buildTar(PARTIAL)
    let chunks = 0
    const slow = Readable.from(
      (async function* () {
        for (; chunks < 600; chunks++) yield Buffer.alloc(64 * KIB)
      })(),
      { objectMode: false },
    )
    const answer = await send(api, pending.bundle, slow, { 'content-length': `${32 * MIB + 1}` }).catch(
      () => undefined,
    )
    if (answer) assert.equal(answer.json.code, 'PAYLOAD_TOO_LARGE')
    slow.destroy()
    assert.equal((await missingPaths(owner, pending)).length, 4)
    assert.equal((await send(api, pending.bundle, tar)).status, 200)
  })

  test('is cut off at the limit without Content-Length, and its complete files are kept', async () => {
    const pending = await createPending(owner, PARTIAL)
    const folder = tarPart({ name: 'folder/', type: '5', data: nothing })
    const folders = Buffer.concat(Array.from({ length: 128 }, () => folder))
    let sent = 0
    const endless = Readable.from(
      (async function* () {
        yield good
        for (; sent < 128 * MIB; sent += folders.length) yield folders
      })(),
      { objectMode: false },
    )
    // A client that still sends may miss the response, because the connection ends soon after it.
    const answer = await send(api, pending.bundle, endless).catch(() => undefined)
    if (answer) assert.equal(answer.json.code, 'PAYLOAD_TOO_LARGE')
    endless.destroy()
    assert.ok(sent < 48 * MIB, `${sent} bytes were taken in`)
    await waitForMissing(owner, pending, ['large.bin', 'late.txt', 'next.txt'])
  })
})
