import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { SiteMetadata } from '../../protocol/api/publish.schema.ts'
import { expectFailure, startApi } from './api.ts'
import { assertKeepsNothing, make, send } from './archive-requests.ts'
import { type Contents, toFiles, toManifest } from './content.ts'

const api = await startApi()
const owner = await api.account()

const SITE: Contents = { 'index.html': '<h1>x</h1>', 'style.css': 'h1 {}', _redirects: '/a /b' }
const METADATA: SiteMetadata = { title: 'T', spaMode: true, ttlSeconds: null }

const listIds = async (slug: string) =>
  (await owner.client.versions(slug)).versions.map(({ versionId }) => versionId)

describe('finalize with ifChanged', () => {
  const cases: [change: string, contents: Contents, metadata: SiteMetadata, isUnchanged: boolean][] = [
    ['nothing', SITE, {}, true],
    ['nothing, with the metadata of the site', SITE, METADATA, true],
    ['the order of the files', Object.fromEntries(Object.entries(SITE).reverse()), {}, true],
    ['a file', { ...SITE, 'style.css': 'h2 {}' }, {}, false],
    ['a rule', { ...SITE, _redirects: '/a /c' }, {}, false],
    ['an added file', { ...SITE, 'more.txt': 'x' }, {}, false],
    ['a removed file', { 'index.html': SITE['index.html']!, 'style.css': 'h1 {}' }, {}, false],
    [
      'a renamed file',
      { 'index.html': SITE['index.html']!, 'main.css': 'h1 {}', _redirects: '/a /b' },
      {},
      false,
    ],
    ['the title', SITE, { title: 'Other' }, false],
    ['the title, which is cleared', SITE, { title: null }, false],
    ['SPA mode', SITE, { spaMode: false }, false],
    ['the time to live', SITE, { ttlSeconds: 3600 }, false],
  ]
  for (const [change, contents, metadata, isUnchanged] of cases) {
    test(`${isUnchanged ? 'drops' : 'publishes'} a version that changes ${change}`, async () => {
      const live = await api.publish(owner.client, SITE, METADATA)
      const { slug } = live
      const answer = await api.publish(owner.client, contents, { slug, ifChanged: true, ...metadata })
      assert.equal(answer.unchanged, isUnchanged ? true : undefined)
      const { versionId } = answer
      assert.deepEqual(await listIds(slug), isUnchanged ? [live.versionId] : [versionId, live.versionId])
      const { currentVersionId, pendingVersionId } = await owner.client.details(slug)
      assert.deepEqual([currentVersionId, pendingVersionId], [versionId, null])
    })
  }

  test('compares uploaded bytes, whether their hashes were declared or not', async () => {
    const { slug, versionId } = await api.publish(owner.client, SITE)
    const files = toManifest(SITE).map(({ hash: _, ...file }) => file)
    await assertKeepsNothing(api, owner, async () => {
      api.pass()
      const { upload } = await owner.client.update(slug, { files })
      await api.upload(upload, SITE)
      const answer = await owner.client.finalize(slug, { versionId: upload.versionId, ifChanged: true })
      assert.deepEqual([answer.unchanged, answer.currentVersionId], [true, versionId])
    })
  })

  test('compares content types', async () => {
    const { slug } = await api.publish(owner.client, { a: 'x' })
    const files = toManifest({ a: 'x' }).map((file) => ({ ...file, contentType: 'text/css' }))
    api.pass()
    const { upload } = await owner.client.update(slug, { files })
    const answer = await owner.client.finalize(slug, { versionId: upload.versionId, ifChanged: true })
    assert.equal(answer.unchanged, undefined)
  })

  test('drops a draft that equals the live version', async () => {
    const live = await api.publish(owner.client, SITE)
    const { slug, versionId } = live
    const draft = await api.publish(owner.client, SITE, { slug, live: false, ifChanged: true })
    assert.deepEqual([draft.unchanged, draft.previewUrl], [true, live.previewUrl])
    assert.deepEqual(await listIds(slug), [versionId])
  })

  test('reports missing files and another base first', async () => {
    const { slug, versionId } = await api.publish(owner.client, SITE)
    const { upload } = await api.update(owner.client, slug, { ...SITE, 'new.txt': 'x' })
    const request = { versionId: upload.versionId, ifChanged: true }
    await expectFailure(owner.client.finalize(slug, request), 'UPLOADS_MISSING')
    const stale = await api.update(owner.client, slug, SITE, { baseVersionId: versionId })
    await api.publish(owner.client, { ...SITE, 'other.txt': 'y' }, { slug })
    const staleRequest = { versionId: stale.upload.versionId, ifChanged: true }
    await expectFailure(owner.client.finalize(slug, staleRequest), 'VERSION_CONFLICT')
  })
})

test('a version that ends while its files arrive is staged again', async () => {
  const { slug } = await api.publish(owner.client, SITE)
  const changed = { ...SITE, 'one.txt': '1', 'two.txt': '2' }
  let ended = 0
  const { versionId } = await owner.client.publish({
    slug,
    ifChanged: true,
    files: toFiles(changed),
    onStaged: async ({ upload }) => {
      api.pass()
      if (ended++ === 0) await owner.client.deleteVersion(slug, upload.versionId)
    },
  })
  assert.deepEqual([ended, (await owner.client.details(slug)).currentVersionId], [2, versionId])
})

test('an archive with ?ifChanged=true that equals the live version keeps nothing', async () => {
  const body = make('zip', SITE)
  const { slug } = await api.publish(owner.client, SITE)
  const before = await listIds(slug)
  const query = '?ifChanged=true'
  const answer = await assertKeepsNothing(api, owner, () =>
    send(api, 'zip', body, { slug, key: owner.key, query }),
  )
  const json = answer.json as Record<string, unknown>
  assert.deepEqual([answer.status, json.unchanged, json.currentVersionId], [200, true, before[0]])
  assert.deepEqual(await listIds(slug), before)
  const changed = make('zip', { ...SITE, 'style.css': 'h3 {}' })
  const published = await send(api, 'zip', changed, { slug, key: owner.key, query })
  assert.equal((published.json as Record<string, unknown>).unchanged, undefined)
  const refused = await send(api, 'zip', body, { slug, key: owner.key, query: '?ifChanged=maybe' })
  assert.equal((refused.json as Record<string, unknown>).code, 'VALIDATION_ERROR')
})
