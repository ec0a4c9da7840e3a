import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { FieldError } from '../../protocol/api/errors.schema.ts'
import type { PublishRequest } from '../../protocol/api/publish.schema.ts'
import { expectFailure, startApi } from './api.ts'
import { make, send } from './archive-requests.ts'
import { type Contents, toFiles, toManifest } from './content.ts'

const api = await startApi()
const owner = await api.account()

const SITE: Contents = { 'index.html': 'home', 'a/one.txt': 'one', 'a/two.txt': 'two' }

const { 'index.html': _, ...WITHOUT_PAGE } = SITE

const manyFiles = (prefix: string, count: number): Contents =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}.txt`, 'x']))

/** The paths of the live version. */
const livePaths = async (slug: string) =>
  (await owner.client.details(slug)).files.map(({ path }) => path).sort()

describe('merge', () => {
  const cases: [outcome: string, files: Contents, deleted: string[] | undefined, paths: string[]][] = [
    ['adds a file', { 'b.txt': 'b' }, undefined, ['a/one.txt', 'a/two.txt', 'b.txt', 'index.html']],
    ['replaces a file', { 'a/one.txt': 'new' }, undefined, ['a/one.txt', 'a/two.txt', 'index.html']],
    ['deletes a file', {}, ['a/one.txt'], ['a/two.txt', 'index.html']],
    ['replaces a folder by a file', { a: 'x' }, ['a/one.txt', 'a/two.txt'], ['a', 'index.html']],
    ['adds one and deletes one', { 'c.txt': 'c' }, ['index.html'], ['a/one.txt', 'a/two.txt', 'c.txt']],
  ]
  for (const [outcome, contents, deleted, paths] of cases) {
    test(`${outcome} and uploads nothing else`, async () => {
      const { slug, siteUrl } = await api.publish(owner.client, SITE)
      const published = await api.publish(owner.client, contents, {
        slug,
        merge: true,
        ...(deleted && { delete: deleted }),
      })
      assert.equal(published.uploaded, Object.keys(contents).length)
      assert.deepEqual(await livePaths(slug), paths)
      for (const [path, content] of Object.entries({ ...SITE, ...contents })) {
        const isServed = paths.includes(path) || deleted?.includes(path) === true
        // A deleted file stays reachable for open pages for an hour.
        if (isServed) assert.equal((await api.visit(siteUrl, `/${path}`)).text, content, path)
      }
    })
  }

  test('replaces and deletes a file whose live name is decomposed, as the same name', async () => {
    const { slug, siteUrl } = await api.publish(owner.client, { ...SITE, 'cafe\u0301.txt': 'old' })
    await api.publish(owner.client, { 'caf\u00e9.txt': 'new' }, { slug, merge: true })
    assert.equal((await livePaths(slug)).length, Object.keys(SITE).length + 1)
    assert.equal((await api.visit(siteUrl, '/caf%C3%A9.txt')).text, 'new')
    const [deleted, again] = ['cafe\u0301.txt', 'caf\u00e9.txt'] as const
    const twice = { files: [], merge: true, delete: [deleted, again] }
    await expectFailure(owner.client.update(slug, twice), 'VALIDATION_ERROR')
    await api.publish(owner.client, {}, { slug, merge: true, delete: [deleted] })
    assert.deepEqual(await livePaths(slug), Object.keys(SITE).sort())
  })

  const refusals: [name: string, request: Partial<PublishRequest>, fields: string[]][] = [
    ['delete without merge', { delete: ['index.html'] }, ['delete']],
    ['unknown paths', { merge: true, delete: ['index.html', 'no', 'a'] }, ['delete[1]', 'delete[2]']],
    ['a path in both', { merge: true, delete: ['new.txt'] }, ['delete[0]']],
    ['a repeated path', { merge: true, delete: ['index.html', 'index.html'] }, ['delete[1]']],
    ['a delete that is no list', { merge: true, delete: 'index.html' as never }, ['delete']],
    ['a path that is not a text', { merge: true, delete: [1 as never] }, ['delete[0]']],
    ['no change at all', { merge: true, files: [] }, ['files']],
    ['files of another shape', { merge: true, files: '' as never, delete: ['index.html'] }, ['files']],
    ['the deletion of all files', { merge: true, files: [], delete: Object.keys(SITE) }, ['files']],
    ['a file below a live file', { merge: true, files: toManifest({ 'index.html/x': 'x' }) }, ['files']],
    ['a file that is a live folder', { merge: true, files: toManifest({ a: 'x' }) }, ['files[0].path']],
    ['more files than a site may have', { merge: true, files: toManifest(manyFiles('m', 998)) }, ['files']],
  ]
  test('refuses invalid changes, and keeps no pending version of them', async () => {
    const { slug } = await api.publish(owner.client, SITE)
    for (const [name, request, fields] of refusals) {
      const full = { files: toManifest({ 'new.txt': 'x' }), ...request }
      const error = await expectFailure(owner.client.update(slug, full), 'VALIDATION_ERROR')
      const named = (error.details as FieldError[]).map(({ field }) => field)
      assert.deepEqual(named, fields, name)
    }
    assert.equal((await owner.client.details(slug)).pendingVersionId, null)
  })

  test('needs a site with a live version', async () => {
    const files = toManifest(SITE)
    await expectFailure(owner.client.create({ files, merge: true }), 'VALIDATION_ERROR')
    const { slug } = await api.create(owner.client, SITE)
    await expectFailure(owner.client.update(slug, { files, merge: true }), 'SITE_PENDING')
  })

  test('of a version that is not live any more is refused at finalize', async () => {
    const { slug } = await api.publish(owner.client, SITE)
    const contents = { 'b.txt': 'b' }
    const { upload } = await owner.client.update(slug, { files: toManifest(contents), merge: true })
    await api.upload(upload, contents)
    await api.publish(owner.client, { 'c.txt': 'c' }, { slug, merge: true })
    const error = await expectFailure(
      owner.client.finalize(slug, { versionId: upload.versionId }),
      'VERSION_CONFLICT',
    )
    const { currentVersionId } = await owner.client.details(slug)
    assert.partialDeepStrictEqual(error.details, { currentVersionId })
  })

  test('of three concurrent publishers loses no file with the SDK', async () => {
    const { slug } = await api.publish(owner.client, SITE)
    const names = Array.from({ length: 3 }, (_, index) => `new-${index}.txt`)
    await Promise.all(
      names.map((name) => owner.client.publish({ files: toFiles({ [name]: name }), slug, merge: true })),
    )
    assert.deepEqual(await livePaths(slug), [...Object.keys(SITE), ...names].sort())
  })
})

test('?merge=true lays an archive over the live version and keeps its top folder', async () => {
  const { slug, siteUrl } = await api.publish(owner.client, SITE)
  const body = make('zip', { 'a/one.txt': 'new', 'a/three.txt': 'three' })
  const answer = await send(api, 'zip', body, { slug, key: owner.key, query: '?merge=true' })
  const { fileCount, removedFolder } = answer.json as Record<string, unknown>
  assert.deepEqual([answer.status, fileCount, removedFolder], [200, 4, undefined])
  assert.deepEqual(await livePaths(slug), ['a/one.txt', 'a/three.txt', 'a/two.txt', 'index.html'])
  assert.equal((await api.visit(siteUrl, '/a/one.txt')).text, 'new')
  const created = await send(api, 'zip', body, { key: owner.key, query: '?merge=true' })
  assert.equal((created.json as Record<string, unknown>).code, 'VALIDATION_ERROR')
})

describe('the response of an update', () => {
  test('does not count files whose names differ in a content hash only', async () => {
    const pages = { 'index.html': '1', 'docs/index.html': '1' }
    const before = { ...pages, 'assets/index-BX3k9a2c.js': '1', 'main.1f2e3d4c.css': '1' }
    const { slug } = await api.publish(owner.client, before)
    const later = { ...pages, 'assets/index-DkE8_1xy.js': '2', 'main.99aa88bb.css': '2' }
    const { removal } = await owner.client.update(slug, { files: toManifest(later) })
    assert.equal(removal, undefined)
    const other = { 'index.html': '2', 'assets/index-contents.js': '2', 'main.css': '2' }
    const staged = await owner.client.update(slug, { files: toManifest(other) })
    assert.deepEqual(staged.removal, { files: 2, liveFiles: 4, index: false })
  })

  const cases: [name: string, contents: Contents, merge: boolean, removal: object | undefined][] = [
    ['nothing', { ...SITE, more: 'x' }, false, undefined],
    ['two files', { 'index.html': 'new' }, false, { files: 2, liveFiles: 3, index: false }],
    ['index.html', WITHOUT_PAGE, false, { files: 1, liveFiles: 3, index: true }],
    ['nothing when it is merged', { 'index.html': 'new' }, true, undefined],
  ]
  test('counts the files that the version removes', async () => {
    const { slug } = await api.publish(owner.client, SITE)
    for (const [name, contents, merge, removal] of cases) {
      const staged = await owner.client.update(slug, { files: toManifest(contents), merge })
      assert.deepEqual(staged.removal, removal, name)
      const refreshed = await owner.client.refresh(slug, { versionId: staged.upload.versionId })
      assert.deepEqual(refreshed.removal, removal, name)
    }
  })

  test('counts them for contents in JSON and for an archive too', async () => {
    for (const [name, contents, merge, removal] of cases) {
      const files = Object.entries(contents).map(([path, content]) => ({ path, content: String(content) }))
      const first = await api.publish(owner.client, SITE)
      const published = await owner.client.publishContents({ files, merge }, first.slug)
      assert.deepEqual(published.removal, removal, name)
      const { slug } = await api.publish(owner.client, SITE)
      const archive = make('zip', contents)
      const { json } = await send(api, 'zip', archive, {
        slug,
        key: owner.key,
        query: `?keepTopFolder=true&merge=${merge}`,
      })
      assert.deepEqual(json.removal, removal, name)
    }
  })
})
