import assert from 'node:assert/strict'
import { readdir, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { UpdateResponse } from '../../protocol/api/publish.schema.ts'
import { Ballast, DiskReserve, reserveBytes } from '../../server/blobs/disk-reserve.ts'
import { noise } from '../edge/fixture.ts'
import { silentLog } from '../support/silent-log.ts'
import { MIB } from '../support/units.ts'
import { waitFor } from '../support/wait-for.ts'
import { requires } from '../tools/part.ts'
import { mountSmallDisk, type SmallDisk } from '../tools/small-disk.ts'
import { Api, expectFailure, toTarget } from './api.ts'
import type { ApiResponse } from './api-response.ts'
import { make, send, TYPES } from './archive-requests.ts'
import { toEntry, toManifest } from './content.ts'
import { buildTar } from './pending-version.ts'

describe('the reserve', () => {
  for (const [what, size, disk, reserve] of [
    ['is 5 percent of a disk', undefined, 10 * 2 ** 30, 512 * MIB],
    ['is at least 256 MiB without a setting', undefined, 2 ** 30, 256 * MIB],
    [
      'is at most 1 GiB without a setting, so that a large disk is not full at 95 percent',
      undefined,
      2 ** 39,
      2 ** 30,
    ],
    ['is the percentage that is set, of any disk', { percent: 10 }, 2 ** 40, 2 ** 40 / 10],
    ['is the bytes that are set', { bytes: 5 }, 2 ** 40, 5],
  ] as const) {
    test(what, () => assert.equal(reserveBytes(size, disk), reserve))
  }

  test('counts admitted bytes as written until the free space is measured again', async (t) => {
    let now = 5000
    t.mock.method(performance, 'now', () => now)
    const reserve = new DiskReserve({ folder: 'a folder', size: undefined })
    let freeBytes = 100
    const measure = t.mock.method(reserve, 'measure', async () => ({
      totalBytes: 1000,
      freeBytes,
      reserveBytes: 20,
    }))
    const measurements = () => measure.mock.callCount()
    await reserve.assertSpace(50)
    await reserve.assertSpace(30)
    assert.equal(measurements(), 1, 'both fit')
    freeBytes = 40
    await reserve.assertSpace(20)
    assert.equal(measurements(), 2, 'a third one does not')
    await assert.rejects(reserve.assertSpace(21), { code: 'INSUFFICIENT_STORAGE' })
    assert.equal(measurements(), 3, 'the space is measured before each refusal')
    freeBytes = 100
    now += 1000
    await reserve.assertSpace(80)
    assert.equal(measurements(), 4, 'and each second')
  })
})

test('with no more than the reserve free, only publishing is refused', requires('small-disk'), async () => {
  await using disk = await mountSmallDisk(64 * MIB)
  await using api = await Api.start({
    DATA: join(disk.folder, 'data'),
    DISK_RESERVE: `${32 * MIB}`,
    SCAN_HOOK: '/bin/cat',
    SCAN_FAILURE: 'pass',
  })
  const owner = await api.account()
  const contents = { 'index.html': 'hello', 'a.bin': noise(400_000) }
  const site = await api.publish(owner.client, contents)
  const doomed = await api.publish(owner.client, { 'index.html': 'doomed' })
  const staged = await api.create(owner.client, contents)
  const whole = await api.create(owner.client, contents)
  await api.upload(whole.upload, contents)
  const { slug: scannedSlug } = await api.publish(owner.client, contents)
  const scanned = await api.update(owner.client, scannedSlug, { 'other.bin': contents['a.bin'] })
  await disk.fill(24 * MIB)
  const key = owner.key
  const put = (target: { url: string; headers: Record<string, string> }, body: Buffer) =>
    api.request('PUT', toTarget(target.url), { headers: target.headers, body })
  const finalize = ({ slug, upload: { versionId } }: UpdateResponse) =>
    api.request('POST', `/api/v1/publish/${slug}/finalize`, { key, json: { versionId } })
  const json = { files: toManifest(contents) }
  const archive = await make('zip', { 'index.html': 'new', 'b.bin': noise(3 * MIB) })
  const publishing: [what: string, publish: () => Promise<ApiResponse>][] = [
    ['create', () => api.request('POST', '/api/v1/publish', { key, json })],
    ['update', () => api.request('PUT', `/api/v1/publish/${site.slug}`, { key, json })],
    ['a small upload', () => put(staged.upload.uploads[0]!, Buffer.from('hello'))],
    ['a large upload', () => put(staged.upload.uploads[1]!, contents['a.bin'])],
    ['a bundle', () => put(staged.upload.bundle!, buildTar(contents))],
    ['an archive', () => send(api, 'zip', archive, { key })],
    ['an archive as an update', () => send(api, 'zip', archive, { key, slug: site.slug })],
    ['finalize', () => finalize(whole)],
    ['finalize, which copies a known file for the scanner', () => finalize(scanned)],
    ['duplicate', () => api.request('POST', `/api/v1/publish/${site.slug}/duplicate`, { key })],
  ]
  // Free space is measured once per second. The disk has space beside the reserve, so that only the reserve refuses.
  while (
    !(await api.request('POST', '/api/v1/publish', { key, json })).text.includes('INSUFFICIENT_STORAGE')
  );
  for (const [what, publish] of publishing) {
    const { status, json: answer } = await publish()
    assert.deepEqual([status, answer.code], [507, 'INSUFFICIENT_STORAGE'], what)
  }

  const other = await api.account()
  assert.equal((await other.client.me()).email, other.email)
  await owner.client.delete(doomed.slug)
  assert.equal((await api.visit(site.siteUrl)).text, 'hello')
  assert.equal((await api.visit(doomed.siteUrl)).status, 404)
  const { versions } = await owner.client.versions(site.slug)
  assert.equal(versions.length, 1)
  assert.equal((await owner.client.restore(site.slug, site.versionId)).replayed, true)
  assert.equal((await api.request('GET', '/health')).status, 200)
  const { upload } = await owner.client.refresh(staged.slug, staged.upload)
  assert.equal(upload.uploads.length, 2)

  await disk.clear()
  await api.upload(upload, contents)
  await owner.client.finalize(staged.slug, staged.upload)
  await owner.client.finalize(whole.slug, whole.upload)
  await owner.client.finalize(scanned.slug, scanned.upload)
  assert.equal((await send(api, 'zip', archive, { key })).status, 201)
})

test('on a full disk sites can be deleted, and users can sign in', requires('small-disk'), async () => {
  await using disk = await mountSmallDisk(64 * MIB)
  const data = join(disk.folder, 'data')
  await using api = await Api.start({ DATA: data, DISK_RESERVE: `${32 * MIB}` })
  await waitFor(async () => (await countBallast(data)) === 2)
  const owner = await api.account()
  const sites = await Promise.all(
    ['one', 'two', 'three'].map((text) => api.publish(owner.client, { 'index.html': text })),
  )
  await disk.fill(24 * MIB)
  const json = { files: toManifest({ 'index.html': 'more' }) }
  const publish = () => api.request('POST', '/api/v1/publish', { key: owner.key, json })
  // Until the reserve refuses them: the free space is measured once per second.
  while ((await publish()).status !== 507);
  await disk.fill()
  const other = await api.account()
  assert.equal((await other.client.me()).email, other.email)
  for (const { slug, siteUrl } of sites) {
    await owner.client.delete(slug, { permanent: true })
    assert.equal((await api.visit(siteUrl)).status, 404)
  }
  const left = await countBallast(data)
  assert.ok(left < 2, `${left} MiB are left`)
  assert.ok(
    api.running.log.some(({ message }) => /^the disk is full: space .* was released$/.test(`${message}`)),
  )

  const size = { bytes: 32 * MIB }
  const ballast = new Ballast({
    folder: data,
    reserve: new DiskReserve({ folder: data, size }),
    log: silentLog,
  })
  await ballast.fill()
  assert.equal(await countBallast(data), left, 'there is no space for it')
  await disk.clear()
  await ballast.fill()
  assert.equal(await countBallast(data), 2)
})

for (const [what, fill] of [
  ['space', (disk: SmallDisk) => disk.fill()],
  ['inodes', (disk: SmallDisk) => disk.fillInodes()],
] as const) {
  test(`a stopped service starts and deletes on a disk without ${what}`, requires('small-disk'), async () => {
    await using disk = await mountSmallDisk(64 * MIB, { inodes: 500 })
    const settings = { DATA: join(disk.folder, 'data'), DISK_RESERVE: `${48 * MIB}` }
    const stopped = await (async () => {
      await using api = await Api.start(settings)
      await waitFor(async () => (await countBallast(settings.DATA)) === 3)
      const owner = await api.account()
      return { ...owner, ...(await api.publish(owner.client, { 'index.html': 'hello' })) }
    })()
    await fill(disk)
    await using api = await Api.start(settings)
    assert.equal((await api.visit(stopped.siteUrl)).text, 'hello')
    await api.client(stopped.key).delete(stopped.slug, { permanent: true })
    assert.equal((await api.visit(stopped.siteUrl)).status, 404)
  })
}

/** Its files have a MiB each. */
const countBallast = (data: string) =>
  readdir(join(data, 'ballast')).then(
    (files) => files.length,
    () => 0,
  )

test('uploads at the same time are refused before they use the reserve', requires('small-disk'), async () => {
  await using disk = await mountSmallDisk(64 * MIB)
  await using api = await Api.start({ DATA: join(disk.folder, 'data'), DISK_RESERVE: '50%' })
  const owner = await api.account()
  const files = Array.from({ length: 5 }, (_, number) => ({
    ...toEntry(`${number}.bin`, 'x'),
    size: 10 * MIB,
  }))
  const { slug, upload } = await owner.client.create({ files: files.map(({ hash: _, ...file }) => file) })
  const bytes = noise(10 * MIB)
  const answers = await Promise.allSettled(
    upload.uploads.map((target) => api.anonymous.upload(target, bytes)),
  )
  const arrived = answers.filter(({ status }) => status === 'fulfilled').length
  assert.ok(arrived < 4, `${arrived} arrived`)
  const { bavail, bsize } = await statfs(disk.folder)
  assert.ok(bavail * bsize >= 31 * MIB, `${bavail * bsize} bytes are left`)
  await expectFailure(owner.client.finalize(slug, upload), 'UPLOADS_MISSING')
  const tooLarge = { path: 'large.bin', size: 40 * MIB, contentType: TYPES.zip }
  const large = await owner.client.create({ files: [tooLarge] })
  await expectFailure(
    api.anonymous.upload(large.upload.uploads[0]!, Buffer.alloc(40 * MIB)),
    'INSUFFICIENT_STORAGE',
  )
})
