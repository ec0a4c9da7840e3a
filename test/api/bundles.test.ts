import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { TAR_END as OUR_END, padding, tarHeader } from '../../protocol/tar.ts'
import { paxPart, TAR_END, tarPart } from '../archive/tar-file.ts'
import { type Account, Api, DAY_MS, expectFailure, HOUR_MS, toTarget } from './api.ts'
import {
  assertMissing,
  assertPublished,
  buildTar,
  buildTarParts,
  createPending,
  missingPaths,
  send,
} from './bundle-fixture.ts'
import { type Contents, sha256, toManifest, toPlainManifest } from './content.ts'

const KIB = 2 ** 10
const MIB = 2 ** 20

let api: Api
let owner: Account
before(async () => {
  api = await Api.start()
  owner = await api.account()
})
after(() => api[Symbol.asyncDispose]())

const SITE = { 'index.html': '<h1>Ahoy</h1>', 'css/style.css': 'h1 { color: teal }', 'a/b/c.txt': 'deep' }

describe('a bundle', () => {
  test('uploads many files in one request, and lists them in the order of the tar', async () => {
    const pending = await createPending(owner, SITE)
    assert.equal(pending.bundle.method, 'PUT')
    assert.deepEqual(pending.bundle.headers, { 'Content-Type': 'application/x-tar' })
    assert.equal(pending.bundle.maxBytes, 32 * MIB)
    const { status, json } = await send(api, pending, buildTar(SITE))
    assert.equal(status, 200)
    const files = Object.entries(SITE).map(([path, content]) => ({
      path,
      size: content.length,
      hash: sha256(content),
    }))
    assert.deepEqual(json, { files })
    await assertPublished(api, owner, pending, SITE)
  })

  test('can have any of the files, in any order, beside uploads and other bundles', async () => {
    const contents: Contents = { ...SITE, 'large.bin': randomBytes(3 * MIB + 7), 'tiny.txt': 'x' }
    const { slug, siteUrl, upload } = await owner.client.create({ files: toManifest(contents) })
    const pending = { slug, siteUrl, versionId: upload.versionId, bundle: upload.bundle! }
    const { 'tiny.txt': tiny, 'large.bin': large, ...others } = contents
    const single = upload.uploads.find(({ path }) => path === 'tiny.txt')!
    const [one, other] = await Promise.all([
      send(api, pending, buildTar({ 'large.bin': large!, 'a/b/c.txt': 'deep' })),
      send(
        api,
        pending,
        buildTar({ 'css/style.css': others['css/style.css']!, 'index.html': '<h1>Ahoy</h1>' }),
      ),
      api.anonymous.upload(single, Buffer.from(tiny!)),
    ])
    assert.deepEqual([one.status, other.status], [200, 200])
    await assertPublished(api, owner, pending, contents)
  })

  test('of 1,000 files is accepted, and so are four at the same time', async () => {
    const contents: Contents = Object.fromEntries(
      Array.from({ length: 1000 }, (_, number) => [`${number % 7}/${number}.txt`, `file ${number}`]),
    )
    const whole = await createPending(owner, contents)
    assert.equal((await send(api, whole, buildTar(contents))).json.files.length, 1000)
    const entries = Object.entries(contents)
    await assertPublished(api, owner, whole, Object.fromEntries(entries.filter((_, at) => at % 99 === 0)))
    const again = await createPending(owner, contents)
    const parts = [0, 250, 500, 750].map((at) => Object.fromEntries(entries.slice(at, at + 250)))
    const answers = await Promise.all(parts.map((part) => send(api, again, buildTar(part))))
    assert.deepEqual(
      answers.map(({ json }) => json.files.length),
      [250, 250, 250, 250],
    )
    await owner.client.finalize(again.slug, { versionId: again.versionId })
  })

  test('can be sent in chunks of any size, without a Content-Length', async () => {
    const contents = { 'a.bin': randomBytes(5000), 'b.bin': randomBytes(700 * KIB) }
    const tar = buildTar(contents)
    for (const size of [511, 64 * KIB]) {
      const pending = await createPending(owner, contents)
      const pieces = Array.from({ length: Math.ceil(tar.length / size) }, (_, at) =>
        tar.subarray(at * size, (at + 1) * size),
      )
      assert.equal((await send(api, pending, Readable.from(pieces))).status, 200)
      await assertPublished(api, owner, pending, contents)
    }
  })

  test('can be sent again until finalize; the last upload of a file counts', async () => {
    const first = { 'a.txt': 'first', 'b.txt': 'one' }
    const pending = await createPending(owner, first, toPlainManifest(first))
    const last = { 'a.txt': 'final', 'b.txt': 'two' }
    for (const contents of [first, last, first, last]) {
      assert.equal((await send(api, pending, buildTar(contents))).status, 200)
    }
    await assertPublished(api, owner, pending, last)
  })

  test('of an update can have files that the live version has too', async () => {
    const { slug } = await api.publish(owner.client, SITE)
    const changed = { ...SITE, 'index.html': '<h1>Land</h1>' }
    const { siteUrl, upload } = await api.update(owner.client, slug, changed)
    assert.deepEqual(
      upload.uploads.map(({ path }) => path),
      ['index.html'],
    )
    const pending = { slug, siteUrl, versionId: upload.versionId, bundle: upload.bundle! }
    assert.equal((await send(api, pending, buildTar(changed))).status, 200)
    await assertPublished(api, owner, pending, changed)
  })

  test('is not offered when nothing has to be uploaded', async () => {
    const { slug } = await api.publish(owner.client, SITE)
    const { upload } = await api.update(owner.client, slug, SITE)
    assert.equal(upload.bundle, undefined)
    assert.deepEqual(upload.uploads, [])
  })

  test('needs no key, and does not count against the rate limit', async () => {
    const pending = await createPending(owner, SITE)
    const answers = []
    for (const authorization of ['Bearer nothing', '', 'Basic x']) {
      answers.push(await send(api, pending, buildTar(SITE), { authorization }))
    }
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
    assert.equal(new Set(answers.map(({ headers }) => headers['x-ratelimit-remaining'])).size, 1)
  })

  const paths: Record<string, [path: string, parts: (data: Buffer) => Buffer[]]> = {
    'a long path, by pax': [
      `${'long/'.repeat(80)}page.html`,
      (data) => [paxPart({ path: `${'long/'.repeat(80)}page.html` }), tarPart({ name: 'x', data })],
    ],
    'a path of umlauts and kanji, by pax': [
      'süß/日本 語.txt',
      (data) => [paxPart({ path: 'süß/日本 語.txt' }), tarPart({ name: 'x', data })],
    ],
    'a path in the other Unicode form': [
      'Öl.txt'.normalize('NFC'),
      (data) => [tarPart({ name: 'Öl.txt'.normalize('NFD'), data })],
    ],
    'a long path, in two fields': [
      `${'p'.repeat(120)}/a.txt`,
      (data) => [tarPart({ prefix: 'p'.repeat(120), name: 'a.txt', data })],
    ],
    'a long path, as GNU writes it': [
      `${'g'.repeat(200)}.txt`,
      (data) => [
        tarPart({ name: '././@LongLink', type: 'L', data: Buffer.from(`${'g'.repeat(200)}.txt\0`) }),
        tarPart({ name: 'x', data }),
      ],
    ],
    'a path with ./ before it': ['a/b.txt', (data) => [tarPart({ name: './a/b.txt', data })]],
    'a size by pax': [
      'a.txt',
      (data) => [paxPart({ size: `${data.length}` }), tarPart({ data, name: 'a.txt' })],
    ],
    'the name of a junk file that is in the manifest': [
      '.DS_Store',
      (data) => [tarPart({ name: '.DS_Store', data })],
    ],
    'folders before it': [
      'a/b.txt',
      (data) => [
        tarPart({ name: 'a/', type: '5', data: Buffer.alloc(0) }),
        tarPart({ name: 'a/b.txt', data }),
      ],
    ],
    'a junk file before it that is not in the manifest': [
      'a/b.txt',
      (data) => [
        tarPart({ name: 'a/._b.txt', data: Buffer.from('fork') }),
        tarPart({ name: 'a/b.txt', data }),
      ],
    ],
  }
  for (const [sentence, [path, parts]] of Object.entries(paths)) {
    test(`can have a file with ${sentence}`, async () => {
      const data = Buffer.from(`the bytes of ${path}`)
      const pending = await createPending(owner, { [path]: data })
      const { status, json } = await send(api, pending, Buffer.concat([...parts(data), TAR_END]))
      assert.equal(status, 200, JSON.stringify(json))
      assert.deepEqual(json.files, [{ path, size: data.length, hash: sha256(data) }])
      await assertPublished(api, owner, pending, { [path]: data })
    })
  }

  test('can be written by the SDK and by the tar command', async () => {
    const contents: Contents = {
      'index.html': 'x',
      [`${'n'.repeat(100)}`]: 'a name that just fits',
      [`${'n'.repeat(101)}`]: 'a name that does not',
      [`d/${'é'.repeat(200)}.txt`]: 'y',
      'block.bin': randomBytes(512),
      'more.bin': randomBytes(513),
    }
    const ours = Object.entries(contents).flatMap(([path, content]) => {
      const bytes = Buffer.from(content)
      return [tarHeader(path, bytes.length), bytes, padding(bytes.length)]
    })
    const written = await createPending(owner, contents)
    assert.equal((await send(api, written, Buffer.concat([...ours, OUR_END]))).status, 200)
    await assertPublished(api, owner, written, contents)

    const folder = mkdtempSync(join(tmpdir(), 'slipway-bundle-'))
    const { [`d/${'é'.repeat(200)}.txt`]: _, ...names } = contents
    for (const [path, content] of Object.entries(names)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), content)
    }
    const archived = await createPending(owner, names)
    const tar = execFileSync('tar', ['-C', folder, '-c', '.'])
    assert.equal((await send(api, archived, tar)).status, 200)
    await assertPublished(api, owner, archived, names)
    rmSync(folder, { recursive: true })
  })
})

describe('the URL of bundles', () => {
  test('works for an hour, and not a millisecond longer', async () => {
    const pending = await createPending(owner, SITE)
    const expires = Number(new URL(pending.bundle.url).searchParams.get('exp')) * 1000
    assert.ok(expires - api.clock.now <= HOUR_MS && expires - api.clock.now > HOUR_MS - 1000)
    api.pass(expires - api.clock.now - 1)
    assert.equal((await send(api, pending, buildTar({ 'index.html': SITE['index.html'] }))).status, 200)
    api.pass()
    const late = await send(api, pending, buildTar(SITE))
    assert.equal(late.json.code, 'UPLOAD_EXPIRED')
    await assertMissing(owner, pending, ['css/style.css', 'a/b/c.txt'])
    const { upload } = await owner.client.refresh(pending.slug, pending)
    assert.equal((await send(api, { bundle: upload.bundle! }, buildTar(SITE))).status, 200)
    await assertPublished(api, owner, pending, SITE)
  })

  test('is refused with any of its bytes changed or left out', async () => {
    const pending = await createPending(owner, SITE)
    const target = toTarget(pending.bundle.url)
    for (let at = '/api/v1/_upload/'.length; at < target.length; at++) {
      for (const instead of [target[at] === '1' ? '2' : '1', '']) {
        const changed = target.slice(0, at) + instead + target.slice(at + 1)
        const { headers } = pending.bundle
        const { status, json } = await api.request('PUT', changed, { body: buildTar(SITE), headers })
        assert.deepEqual([status, json.code], [403, 'INVALID_UPLOAD_TOKEN'], changed)
      }
    }
    assert.equal((await missingPaths(owner, pending)).length, 3)
  })

  test('is refused with the token of another version, and so are tokens of single files', async () => {
    const [mine, theirs] = [await createPending(owner, SITE), await createPending(owner, SITE)]
    const { upload } = await owner.client.refresh(mine.slug, mine)
    const [path, query] = toTarget(mine.bundle.url).split('?') as [string, string]
    const [filePath, fileQuery] = toTarget(upload.uploads[0]!.url).split('?') as [string, string]
    const mixtures = [
      `${path}?${toTarget(theirs.bundle.url).split('?')[1]}`,
      `${path}?${fileQuery}`,
      `${path}?${fileQuery.replace(/&ct=[^&]*/, '')}`,
      `${path}/?${query}`,
      `${filePath}?${query}`,
      `${filePath}?${query}&ct=application%2Fx-tar`,
      path,
    ]
    for (const target of mixtures) {
      const { json } = await api.request('PUT', target, {
        body: buildTar(SITE),
        headers: mine.bundle.headers,
      })
      assert.equal(json.code, 'INVALID_UPLOAD_TOKEN', target)
    }
    assert.equal((await missingPaths(owner, mine)).length, 3)
  })

  test('accepts the content type of tar, and no other', async () => {
    const pending = await createPending(owner, SITE)
    for (const type of ['application/gzip', 'application/octet-stream', 'text/html']) {
      const { json } = await send(api, pending, buildTar(SITE), { 'content-type': type })
      assert.equal(json.code, 'CONTENT_TYPE_MISMATCH', type)
      assert.match(json.error, /application\/x-tar/)
    }
    assert.equal((await missingPaths(owner, pending)).length, 3)
    assert.equal(
      (await send(api, pending, buildTar(SITE), { 'content-type': 'Application/X-Tar' })).status,
      200,
    )
  })

  test('is UPLOAD_EXPIRED after finalize and after delete, and SITE_EXPIRED when the site is expired', async () => {
    const done = await createPending(owner, SITE)
    await send(api, done, buildTar(SITE))
    await assertPublished(api, owner, done, SITE)
    assert.equal((await send(api, done, buildTar(SITE))).json.code, 'UPLOAD_EXPIRED')
    const version = await createPending(owner, SITE)
    await owner.client.deleteVersion(version.slug, version.versionId)
    assert.equal((await send(api, version, buildTar(SITE))).json.code, 'UPLOAD_EXPIRED')
    const site = await createPending(owner, SITE)
    await owner.client.delete(site.slug)
    assert.equal((await send(api, site, buildTar(SITE))).json.code, 'UPLOAD_EXPIRED')

    const { slug, siteUrl, claimToken } = await api.publish(api.anonymous, { 'index.html': 'x' })
    api.pass(DAY_MS - 10_000)
    const { upload } = await api.update(api.anonymous, slug, SITE, { claimToken: claimToken! })
    const anonymous = { slug, siteUrl, versionId: upload.versionId, bundle: upload.bundle! }
    const [first, ...rest] = buildTarParts(SITE)
    assert.equal((await send(api, anonymous, Buffer.concat([first!, TAR_END]))).status, 200)
    api.pass(10_000)
    const late = await send(api, anonymous, Buffer.concat([...rest, TAR_END]))
    assert.deepEqual([late.status, late.json.code], [410, 'SITE_EXPIRED'])
    await expectFailure(api.anonymous.finalize(slug, { versionId: upload.versionId }), 'SITE_EXPIRED')
  })
})
