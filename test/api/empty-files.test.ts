import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { PublishRequest } from '../../protocol/api/publish.schema.ts'
import { EMPTY_HASH } from '../../protocol/manifest/empty-files.ts'
import { pluck } from '../support/pluck.ts'
import { startApi } from './api.ts'
import { type ApiResponse, assertInvalid } from './api-response.ts'
import { assertKeepsNothing, type Kind, make, send } from './archive-requests.ts'
import { type Contents, toEntry, toManifest } from './content.ts'

const api = await startApi({ ANONYMOUS_FILES: '3' })
const owner = await api.account()

const CSS = {
  path: 'css/vp-icons.css',
  size: 0,
  contentType: 'text/css; charset=utf-8',
  hash: EMPTY_HASH,
}
const PAGE: Contents = { 'index.html': '<link rel="stylesheet" href="css/vp-icons.css">' }
const SITE: Contents = { ...PAGE, [CSS.path]: '' }

async function findFile(slug: string, path = CSS.path) {
  return (await owner.client.details(slug)).files.find((file) => file.path === path)
}

function publish(json: unknown, slug?: string): Promise<ApiResponse> {
  api.pass()
  return slug === undefined
    ? owner.request('POST', '/api/v1/publish', { json })
    : owner.request('PUT', `/api/v1/publish/${slug}`, { json })
}

/** Every way to publish the site. Each returns its name. */
const ways: [way: string, publish: () => Promise<string>][] = [
  ['a manifest', async () => (await api.publish(owner.client, SITE)).slug],
  ...(['zip', 'tar', 'tar.gz'] as Kind[]).map((kind): (typeof ways)[0] => [
    kind,
    async () => (await send(api, kind, make(kind, { ...SITE }), { key: owner.key })).json.slug,
  ]),
  [
    'contents',
    async () => {
      const files = Object.entries(SITE).map(([path, content]) => ({ path, content }))
      return (await publish({ files })).json.slug
    },
  ],
  [
    'contents beside emptyFiles',
    async () => {
      const files = [
        { path: 'index.html', contentBase64: Buffer.from(PAGE['index.html']!).toString('base64') },
      ]
      return (await publish({ files, emptyFiles: [CSS.path] })).json.slug
    },
  ],
]

describe('an empty file', () => {
  for (const [way, publishSite] of ways) {
    test(`of ${way} is listed and served without bytes, as the type of its name`, async () => {
      const slug = await publishSite()
      const details = await owner.client.details(slug)
      assert.deepEqual(await findFile(slug), CSS)
      const { fileCount, totalBytes, files } = await owner.client.version(slug, details.currentVersionId!)
      assert.deepEqual([fileCount, totalBytes], [2, Buffer.byteLength(PAGE['index.html']!)])
      const stylesheet = files.find(({ path }) => path === CSS.path)
      assert.deepEqual(stylesheet, CSS)
      const { status, headers, body } = await api.visit(details.siteUrl, `/${CSS.path}`)
      assert.deepEqual(
        [status, headers['content-length'], headers['content-type'], body.length],
        [200, '0', CSS.contentType, 0],
      )
      assert.equal((await api.visit(details.siteUrl)).text, SITE['index.html'])
    })
  }

  test('needs no upload: it is in no list of the plan, and a version with others is complete without it', async () => {
    const request = { files: toManifest(PAGE), emptyFiles: [CSS.path, '.nojekyll'] }
    const { slug, upload } = await owner.client.create(request)
    const paths = ({ uploads, skipped }: typeof upload) => [...uploads, ...skipped].map(({ path }) => path)
    assert.deepEqual(paths(upload), ['index.html'])
    const { versionId } = upload
    assert.deepEqual(paths((await owner.client.refresh(slug, { versionId })).upload), ['index.html'])
    const tar = make('tar', { [CSS.path]: '', ...PAGE })
    const bundled = await owner.client.uploadBundle(upload.bundle!, tar, { size: tar.length })
    assert.deepEqual(pluck(bundled.files, 'path'), ['index.html'])
    await owner.client.finalize(slug, { versionId })
    assert.equal((await owner.client.details(slug)).files.length, 3)
    const again = await owner.client.update(slug, request)
    assert.deepEqual([again.upload.uploads, paths(again.upload)], [[], ['index.html']])
    const finalized = await owner.client.finalize(slug, {
      versionId: again.upload.versionId,
      ifChanged: true,
    })
    assert.equal(finalized.unchanged, true)
  })

  test('is added, filled, emptied and deleted by merges, and counted as each', async () => {
    const { slug, siteUrl } = await api.publish(owner.client, PAGE)
    const steps: [request: Partial<PublishRequest>, changes: number[], size: number | undefined][] = [
      [{ emptyFiles: [CSS.path] }, [1, 0, 0], 0],
      [{ files: [{ path: CSS.path, content: 'a {}' } as never] }, [0, 1, 0], 4],
      [{ files: [{ path: CSS.path, content: '' } as never] }, [0, 1, 0], 0],
      [{ delete: [CSS.path] }, [0, 0, 1], undefined],
    ]
    const versions: string[] = []
    for (const [request, changes, size] of steps) {
      const answer = await publish({ files: [], merge: true, ...request }, slug)
      assert.equal(answer.status, 200, answer.text)
      const { added, changed, removed } = answer.json.changes
      assert.deepEqual([added, changed, removed], changes)
      const versionId = answer.json.upload?.versionId ?? answer.json.versionId
      if (answer.json.upload) await owner.client.finalize(slug, { versionId })
      assert.equal((await findFile(slug))?.size, size)
      versions.push(versionId)
    }
    await owner.client.restore(slug, versions[0]!)
    assert.deepEqual(await findFile(slug), CSS)
    assert.equal((await api.visit(siteUrl, `/${CSS.path}`)).status, 200)
    const copy = await owner.client.duplicate(slug)
    assert.deepEqual(await findFile(copy.slug), CSS)
    assert.equal((await api.visit(copy.siteUrl, `/${CSS.path}`)).status, 200)
  })

  test('can be the start page, which takes the title of the site', async () => {
    const contents = { 'index.html': '', 'a.txt': 'a', _headers: '' }
    const { siteUrl, warnings } = await api.publish(owner.client, contents, { title: 'Bakery' })
    assert.equal(warnings, undefined)
    assert.match((await api.visit(siteUrl)).text, /<title>Bakery<\/title>/)
  })
})

test('violations of empty files are reported with the rules of other files', async () => {
  const page = toManifest(PAGE)
  const refused: [request: object, ...fields: string[]][] = [
    [{ files: [], emptyFiles: ['index.html'] }, 'files'],
    [{ files: [{ path: 'index.html', content: '' }] }, 'files'],
    [{ files: [...page, toEntry('a', '')] }, 'files[1].size'],
    [{ files: page, emptyFiles: 'a' }, 'emptyFiles'],
    [{ files: page, emptyFiles: [1, '../a', ''] }, 'emptyFiles[0]', 'emptyFiles[1]', 'emptyFiles[2]'],
    [{ files: page, emptyFiles: ['index.html', 'a', 'a'] }, 'emptyFiles[0]', 'emptyFiles[2]'],
    [{ files: page, emptyFiles: ['caf\u00e9', 'cafe\u0301'] }, 'emptyFiles[1]'],
    [{ files: page, emptyFiles: ['index.html/a'] }, 'files[0].path'],
    [{ files: [{ path: 'a', content: 'a' }], emptyFiles: ['a'] }, 'emptyFiles[0]'],
  ]
  for (const [request, ...fields] of refused)
    assertInvalid(await assertKeepsNothing(api, owner, () => publish(request)), ...fields)
  for (const kind of ['zip', 'tar'] as Kind[]) {
    const archive = make(kind, { 'a.txt': '', 'b.txt': '' })
    assertInvalid(await send(api, kind, archive, { key: owner.key }), 'files')
  }
  const { slug } = await api.publish(owner.client, SITE)
  const merges: [request: object, field: string][] = [
    [{ delete: ['index.html'] }, 'files'],
    [{ emptyFiles: ['a', 'a'] }, 'emptyFiles[1]'],
    [{ emptyFiles: ['css'] }, 'emptyFiles[0]'],
    [{ emptyFiles: ['a'], delete: ['a'] }, 'delete[0]'],
  ]
  for (const [request, field] of merges)
    assertInvalid(await publish({ files: [], merge: true, ...request }, slug), field)
})

test('empty files count as files', async () => {
  const emptyFiles = ['a', 'b', 'c']
  const json = { files: toManifest(PAGE), emptyFiles }
  const answer = await api.request('POST', '/api/v1/publish', { json })
  assertInvalid(answer, 'files')
  assert.match(answer.json.error, /4 files. The limit is 3 per site/)
  for (const kind of ['zip', 'tar'] as Kind[]) {
    const archive = make(kind, { ...PAGE, ...Object.fromEntries(emptyFiles.map((path) => [path, ''])) })
    assert.equal((await send(api, kind, archive)).json.code, 'PAYLOAD_TOO_LARGE')
  }
})
