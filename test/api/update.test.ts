import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { UpdateResponse } from '../../protocol/api/publish.schema.ts'
import { DAY_MS, expectFailure, HOUR_MS, startApi } from './api.ts'
import { type Contents, sha256, toEntry, toManifest } from './content.ts'

const api = await startApi()
const owner = await api.account()

const text = async (siteUrl: string, path = '/') => (await api.visit(siteUrl, path)).text

/** The paths to upload, and the skipped ones. */
function planned({ upload }: UpdateResponse): { upload: string[]; skip: string[] } {
  for (const { reason } of upload.skipped) assert.equal(reason, 'hash_match')
  return { upload: upload.uploads.map(({ path }) => path), skip: upload.skipped.map(({ path }) => path) }
}

describe('an update', () => {
  const first: Contents = { 'index.html': 'home', 'dir/a.txt': 'alpha', 'b.txt': 'beta' }
  const cases: [sentence: string, next: Contents, upload: string[]][] = [
    ['without a change', first, []],
    ['with a file renamed', { 'index.html': 'home', 'new/name.txt': 'alpha', 'b.txt': 'beta' }, []],
    ['with files exchanged', { 'index.html': 'home', 'dir/a.txt': 'beta', 'b.txt': 'alpha' }, []],
    ['with a file copied', { ...first, 'copy 1.txt': 'alpha', 'copy 2.txt': 'alpha' }, []],
    ['with a file of another type', { 'index.html': 'home', 'b.json': 'beta' }, []],
    ['with a new file twice', { 'index.html': 'home', 'x.txt': 'x', 'y.txt': 'x' }, ['x.txt', 'y.txt']],
    ['with a byte changed', { ...first, 'b.txt': 'bete' }, ['b.txt']],
    ['with everything changed', { 'index.html': 'x' }, ['index.html']],
  ]
  test('uploads changed bytes only', async () => {
    for (const [sentence, next, upload] of cases) {
      const { slug, siteUrl } = await api.publish(owner.client, first)
      const staged = await api.update(owner.client, slug, next)
      const skip = Object.keys(next).filter((path) => !upload.includes(path))
      assert.deepEqual(planned(staged), { upload, skip }, sentence)
      assert.equal(staged.upload.bundle === undefined, upload.length === 0, sentence)
      await api.upload(staged.upload, next)
      await owner.client.finalize(slug, staged.upload)
      for (const [path, content] of Object.entries(next)) {
        const visit = await api.visit(siteUrl, `/${path.replace(' ', '%20')}`)
        assert.equal(visit.text, content)
        assert.equal(visit.headers['content-type'], toEntry(path, content).contentType)
      }
    }
  })

  test('uploads a file with the hash of a live file and another size, which then fails', async () => {
    const { slug } = await api.publish(owner.client, { 'index.html': 'same' })
    for (const size of [3, 5]) {
      const staged = await owner.client.update(slug, { files: [{ ...toEntry('index.html', 'same'), size }] })
      assert.deepEqual(planned(staged), { upload: ['index.html'], skip: [] })
      const [target] = staged.upload.uploads
      await expectFailure(api.anonymous.upload(target!, Buffer.from('same')), 'SIZE_MISMATCH')
      await expectFailure(api.anonymous.upload(target!, Buffer.alloc(size)), 'HASH_MISMATCH')
    }
  })

  const elsewhere: [where: string, place: (slug: string) => Promise<unknown>][] = [
    [
      'a site of another account',
      async () => api.publish((await api.account()).client, { 'x.txt': 'wanted' }),
    ],
    ['another site of the same owner', () => api.publish(owner.client, { 'x.txt': 'wanted' })],
    [
      'the version before the live one',
      async (slug) => {
        await api.publish(owner.client, { 'x.txt': 'wanted' }, { slug })
        await api.publish(owner.client, { 'x.txt': 'live' }, { slug })
      },
    ],
    ['a draft', (slug) => api.publish(owner.client, { 'x.txt': 'wanted' }, { slug, live: false })],
    [
      'a pending version',
      async (slug) => {
        const { upload } = await api.update(owner.client, slug, { 'x.txt': 'wanted' })
        await api.upload(upload, { 'x.txt': 'wanted' })
      },
    ],
  ]
  for (const [where, place] of elsewhere) {
    test(`reuses nothing from ${where}`, async () => {
      const { slug } = await api.publish(owner.client, { 'index.html': 'home' })
      await place(slug)
      const staged = await api.update(owner.client, slug, { 'y.txt': 'wanted' })
      assert.deepEqual(planned(staged), { upload: ['y.txt'], skip: [] })
      await expectFailure(owner.client.finalize(slug, staged.upload), 'UPLOADS_MISSING')
    })
  }

  test('keeps skipped files, even if the version that they came from is deleted', async () => {
    const one = await api.publish(owner.client, { 'index.html': 'home', 'kept.txt': 'kept' })
    const { slug, siteUrl } = one
    const next = { 'index.html': 'new', 'renamed.txt': 'kept' }
    const staged = await api.update(owner.client, slug, next)
    assert.deepEqual(planned(staged).skip, ['renamed.txt'])
    await api.publish(owner.client, { 'index.html': 'other' }, { slug })
    await owner.client.deleteVersion(slug, one.versionId)
    api.pass(HOUR_MS)
    await api.sweep('blobs')
    await api.sweep('unnamed')
    api.pass(HOUR_MS)
    await api.sweep('blobs')
    await api.upload((await owner.client.refresh(slug, staged.upload)).upload, next)
    await owner.client.finalize(slug, staged.upload)
    assert.equal(await text(siteUrl, '/renamed.txt'), 'kept')
  })

  test('of a site that was never live uploads all files', async () => {
    const contents = { 'index.html': 'x' }
    const { slug, upload } = await api.create(owner.client, contents)
    await api.upload(upload, contents)
    const staged = await api.update(owner.client, slug, contents)
    assert.deepEqual(planned(staged), { upload: ['index.html'], skip: [] })
  })
})

describe('the metadata in an update', () => {
  test('sets given fields, keeps missing ones, and clears null fields', async () => {
    const contents = { 'index.html': 'one', 'card.png': 'png' }
    const metadata = { title: 'T', description: 'D', ogImagePath: 'card.png', spaMode: true }
    const { slug } = await api.publish(owner.client, contents, metadata)
    const about = async () => {
      const { title, description, ogImagePath, spaMode } = await owner.client.details(slug)
      return { title, description, ogImagePath, spaMode }
    }
    await api.publish(owner.client, { ...contents, 'index.html': 'two' }, { slug })
    assert.deepEqual(await about(), metadata)
    await api.publish(
      owner.client,
      { ...contents, 'index.html': 'three' },
      { slug, title: 'New', description: null },
    )
    assert.deepEqual(await about(), { ...metadata, title: 'New', description: null })
    await api.publish(owner.client, contents, { slug, ogImagePath: null, spaMode: false })
    assert.deepEqual(await about(), { title: 'New', description: null, ogImagePath: null, spaMode: false })
  })

  test('has no image that its version does not have, and has it again with the next one that does', async () => {
    const contents = { 'index.html': 'x', 'a.png': 'a' }
    const { slug, siteUrl } = await api.publish(owner.client, contents, { ogImagePath: 'a.png' })
    const image = async () => {
      const { ogImagePath, viewer } = await owner.client.details(slug)
      assert.equal(viewer.ogImagePath, 'a.png')
      assert.equal(/og:image/.test(await text(siteUrl)), ogImagePath !== null)
      return ogImagePath
    }
    const { warnings } = await api.publish(owner.client, { 'index.html': 'x' }, { slug })
    const message = 'The image of the link preview is not in this version'
    assert.deepEqual([await image(), warnings], [null, [{ file: 'a.png', message }]])
    await api.publish(owner.client, { ...contents, 'index.html': 'y' }, { slug })
    assert.equal(await image(), 'a.png')
    await owner.client.restore(slug, 'previous')
    assert.equal(await image(), null)
    await owner.client.restore(slug, 'previous')
    assert.equal(await image(), 'a.png')
  })
})

describe('an update without an account', () => {
  test('is refused without the token, with a wrong one and with that of another site', async () => {
    const { slug } = await api.publish(api.anonymous, { 'index.html': 'one' })
    const other = await api.publish(api.anonymous, { 'index.html': 'other' })
    const files = toManifest({ 'index.html': 'two' })
    await expectFailure(api.anonymous.update(slug, { files }), 'UNAUTHORIZED')
    await expectFailure(owner.client.update(slug, { files }), 'NOT_FOUND')
    for (const claimToken of [other.claimToken!, '', 'x', sha256('x')]) {
      await expectFailure(api.anonymous.update(slug, { files, claimToken }), 'INVALID_CLAIM_TOKEN')
    }
    const claimToken = other.claimToken!
    await expectFailure(api.anonymous.update('no-such-site-234567', { files, claimToken }), 'NOT_FOUND')
  })

  test('is SITE_EXPIRED after 24 hours, like visits, finalize and claim', async () => {
    const contents = { 'index.html': 'one' }
    const { slug, siteUrl, claimToken, expiresAt } = await api.publish(api.anonymous, contents)
    const credentials = { claimToken: claimToken! }
    const staged = await api.update(api.anonymous, slug, { 'index.html': 'two' }, credentials)
    await api.upload(staged.upload, { 'index.html': 'two' })
    api.clock.now = Date.parse(expiresAt!) - 1
    assert.equal(await text(siteUrl), 'one')
    const assertExpired = async () => {
      assert.equal((await api.visit(siteUrl)).status, 410)
      const files = toManifest({ 'index.html': 'three' })
      await expectFailure(api.anonymous.update(slug, { files, ...credentials }), 'SITE_EXPIRED')
      await expectFailure(
        api.anonymous.refresh(slug, { versionId: staged.upload.versionId, ...credentials }),
        'SITE_EXPIRED',
      )
      await expectFailure(api.anonymous.finalize(slug, staged.upload), 'SITE_EXPIRED')
      await expectFailure(owner.client.claim(slug, claimToken!), 'SITE_EXPIRED')
      await expectFailure(api.anonymous.claimPreview(slug, claimToken!), 'SITE_EXPIRED')
    }
    api.pass()
    await assertExpired()
    await api.sweep('expired-sites')
    await assertExpired()
    api.pass(30 * DAY_MS)
    await assertExpired()
  })
})
