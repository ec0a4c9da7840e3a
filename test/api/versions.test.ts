import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Published } from '../../client/sdk/slipway.ts'
import type { VersionSummary } from '../../protocol/api/versions.schema.ts'
import { pluck } from '../support/pluck.ts'
import { expectFailure, startApi, toTarget } from './api.ts'
import { type ApiResponse, readRemaining } from './api-response.ts'
import { make } from './archive-requests.ts'
import { browser } from './browser.ts'
import { type Contents, sha256, toFiles } from './content.ts'
import { webp } from './webp.ts'

const api = await startApi()
const owner = await api.account()

const page = { 'index.html': 'x' }

const text = async (siteUrl: string, path = '/') => (await api.visit(siteUrl, path)).text

/** A site with a version for each of these contents, the last one live. */
async function publishVersions(...all: Contents[]) {
  const published: Published[] = []
  for (const contents of all) {
    published.push(await api.publish(owner.client, contents, { slug: published[0]?.slug }))
  }
  const { slug, siteUrl } = published[0]!
  return { slug, siteUrl, ids: pluck(published, 'versionId') }
}

/** A site with `count` versions, numbered from 0. */
const siteWith = (count: number) =>
  publishVersions(
    ...Array.from({ length: count }, (_, number) => ({ 'index.html': `${number}`, 'same.txt': 'same' })),
  )

test('the versions of a site are listed newest first, with their details and preview URLs', async () => {
  const { slug, siteUrl, ids } = await siteWith(2)
  const { versions } = await owner.client.versions(slug)
  const now = new Date(api.clock.now).toISOString()
  const { createdAt, publishedAt, fileCount, totalBytes, changes, publishedBy, publishedWith } = versions[0]!
  assert.deepEqual([createdAt, publishedAt, publishedBy, publishedWith], [now, now, owner.email, 'key'])
  assert.deepEqual([fileCount, totalBytes, changes], [2, 5, { added: 0, changed: 1, removed: 0 }])
  const shown = versions.map(({ versionId, current, previewUrl }) => [versionId, current, previewUrl])
  const expected = ids.toReversed().map((id, at) => [id, at === 0, siteUrl.replace('://', `://${id}--`)])
  assert.deepEqual(shown, expected)
  for (const [number, { previewUrl }] of versions.toReversed().entries()) {
    assert.equal(await text(previewUrl), `${number}`)
  }
  const other = await siteWith(1)
  const elsewhere = await api.visit(versions[0]!.previewUrl.replace(slug, other.slug))
  assert.equal(elsewhere.status, 404, 'a version is shown at hosts of its own site only')
})

test('versions that go live within a second have different dates, so that no client takes one for another', async () => {
  const { slug, siteUrl, ids } = await siteWith(1)
  const since = ({ headers }: ApiResponse) => ({ 'if-modified-since': headers['last-modified']! })
  const first = await api.visit(siteUrl)
  assert.equal((await api.visit(siteUrl, '/', since(first))).status, 304)
  await api.publish(owner.client, { 'index.html': 'another' }, { slug })
  const second = await api.visit(siteUrl, '/', since(first))
  assert.deepEqual([second.status, second.text], [200, 'another'])
  await owner.client.restore(slug, ids[0]!)
  const third = await api.visit(siteUrl, '/', since(second))
  assert.deepEqual([third.status, third.text], [200, '0'])
})

describe('restoring', () => {
  test('makes a version live again immediately, without uploads', async () => {
    const { slug, siteUrl, ids } = await siteWith(3)
    const publishing = ({ publishedAt, publishedWith }: VersionSummary) => [publishedAt, publishedWith]
    const before = (await owner.client.versions(slug)).versions
    api.pass(5000)
    const answer = await owner.client.restore(slug, ids[0]!)
    assert.deepEqual([answer.currentVersionId, answer.previousVersionId], [ids[0], ids[2]])
    assert.deepEqual([await text(answer.previewUrl), await text(siteUrl)], ['0', '0'])
    const { currentVersionId, updatedAt } = await owner.client.details(slug)
    assert.deepEqual([currentVersionId, updatedAt], [ids[0], new Date(api.clock.now).toISOString()])
    assert.deepEqual((await owner.client.versions(slug)).versions.map(publishing), before.map(publishing))
    const repeated = { ...answer, previousVersionId: null, replayed: true }
    assert.deepEqual(await owner.client.restore(slug, ids[0]!), repeated)
    const { upload } = await api.update(owner.client, slug, { 'index.html': '0', 'same.txt': 'same' })
    assert.equal(upload.uploads.length, 0, 'the restored version is the one that updates are compared with')
  })

  test('goes back from version to version, whichever was created first or was undone', async () => {
    const { slug, siteUrl } = await siteWith(1)
    const publish = (content: string, preview?: string) =>
      api.publish(owner.client, { 'index.html': content }, { slug, ...(preview && { preview }) })
    const back = async () => {
      api.pass()
      return owner.client.restore(slug, 'previous').then(
        () => text(siteUrl),
        ({ code }) => code,
      )
    }
    await publish('bad')
    assert.equal(await back(), '0')
    await publish('promoted', 'pr-42')
    await publish('1')
    api.pass()
    const { versionId } = await owner.client.promote(slug, 'pr-42')
    await publish('bad, too')
    assert.deepEqual(await Array.fromAsync([1, 2, 3, 4], back), ['promoted', '1', '0', 'NOT_FOUND'])
    await owner.client.restore(slug, versionId)
    assert.equal(await back(), '0')
    const other = await siteWith(3)
    for (const target of [other.ids[1]!, 'previous']) await owner.client.restore(other.slug, target)
    assert.equal(await text(other.siteUrl), '0', 'that of the previous version by its id is a rollback, too')
  })

  test('goes back to what the deleted versions had replaced', async () => {
    for (const [deleted, expected] of [
      [[3, 2], '1'],
      [[3, 2, 1], 'NOT_FOUND'],
    ] as const) {
      const { slug, siteUrl, ids } = await siteWith(4)
      await owner.client.restore(slug, ids[0]!)
      for (const at of deleted) await owner.client.deleteVersion(slug, ids[at]!)
      const back = owner.client.restore(slug, 'previous').then(
        () => text(siteUrl),
        ({ code }) => code,
      )
      assert.equal(await back, expected)
    }
  })

  test('is refused when another version went live since the base, but not when it is repeated', async () => {
    const { slug, siteUrl, ids } = await siteWith(3)
    const [first, second, third] = ids as [string, string, string]
    for (const target of [first, 'previous']) {
      const refusal = await expectFailure(owner.client.restore(slug, target, second), 'VERSION_CONFLICT')
      assert.partialDeepStrictEqual(refusal.details, { currentVersionId: third })
    }
    assert.equal((await owner.client.restore(slug, first, third)).versionId, first)
    assert.equal((await owner.client.restore(slug, first, third)).replayed, true)
    assert.equal(await text(siteUrl), '0')
  })

  test('is refused for pending versions and those of another site', async () => {
    const [{ slug }, other] = [await siteWith(1), await siteWith(1)]
    const { upload } = await api.update(owner.client, slug, { 'index.html': 'pending' })
    await expectFailure(owner.client.restore(slug, upload.versionId), 'UPLOADS_MISSING')
    await expectFailure(owner.client.restore(slug, other.ids[0]!), 'NOT_FOUND')
  })
})

describe('deleting a version', () => {
  test('is permanent', async () => {
    const { slug, siteUrl, ids } = await siteWith(3)
    const [versionId] = ids as [string]
    const { previewUrl } = (await owner.client.versions(slug)).versions.at(-1)!
    assert.equal(await text(previewUrl), '0')
    await owner.client.deleteVersion(slug, versionId)
    assert.equal((await api.visit(previewUrl)).status, 404)
    await expectFailure(owner.client.restore(slug, versionId), 'NOT_FOUND')
    await expectFailure(owner.client.finalize(slug, { versionId }), 'NOT_FOUND')
    assert.equal((await owner.client.versions(slug)).versions.length, 2)
    assert.equal(await text(siteUrl), '2')
  })

  test('ends the hour in which its files stay reachable, except those that another version had', async () => {
    const contents = { 'index.html': 'page', 'both.js': 'both' }
    const { slug, siteUrl } = await api.publish(owner.client, contents)
    const { versionId } = await api.publish(owner.client, { ...contents, 'secret.js': 'secret' }, { slug })
    await api.publish(owner.client, { 'index.html': 'page' }, { slug })
    const read = async (path: string) => (await api.visit(siteUrl, path)).text
    assert.deepEqual([await read('/secret.js'), await read('/both.js')], ['secret', 'both'])
    await owner.client.deleteVersion(slug, versionId)
    assert.notEqual(await read('/secret.js'), 'secret')
    assert.equal(await read('/both.js'), 'both')
  })

  test('is refused for the live one and for those of another site', async () => {
    const { slug, siteUrl, ids } = await siteWith(2)
    await expectFailure(owner.client.deleteVersion(slug, ids[1]!), 'VERSION_LIVE')
    await owner.client.restore(slug, ids[0]!)
    const other = await siteWith(1)
    await expectFailure(owner.client.deleteVersion(other.slug, ids[1]!), 'NOT_FOUND')
    await owner.client.deleteVersion(slug, ids[1]!)
    assert.equal(await text(siteUrl), '0')
  })
})

const newest = async (slug: string) => (await owner.client.versions(slug)).versions[0]!

describe('what changed in a version', () => {
  const first = { 'index.html': 'home', 'a/b.css': 'b', 'c.js': 'c' }
  const cases: [what: string, later: Contents, ...differs: string[][]][] = [
    ['nothing', first, [], [], []],
    ['other bytes', { ...first, 'c.js': 'C' }, [], ['c.js'], []],
    ['a new file', { ...first, 'd.txt': 'd' }, ['d.txt'], [], []],
    ['removed files', { 'index.html': 'home' }, [], [], ['a/b.css', 'c.js']],
    ['another name', { 'index.html': 'home', 'a/b.css': 'b', 'e.js': 'c' }, ['e.js'], [], ['c.js']],
    ['everything', { 'index.html': 'new', 'f.svg': 'f' }, ['f.svg'], ['index.html'], ['a/b.css', 'c.js']],
  ]
  test('is returned by path, and counted in the list', async () => {
    for (const [what, later, ...differs] of cases) {
      const { slug, ids } = await publishVersions(first, later)
      const version = await owner.client.version(slug, ids[1]!)
      const { files, comparedWith, added, changed, removed, ...summary } = version
      assert.equal(comparedWith, ids[0])
      assert.deepEqual([added, changed, removed], differs, what)
      assert.deepEqual(summary, { slug, ...(await newest(slug)) })
      const counts = { added: added.length, changed: changed.length, removed: removed.length }
      assert.deepEqual(summary.changes, counts)
      assert.deepEqual(
        files.map(({ path, hash }) => [path, hash]),
        Object.entries(later).map(([path, content]) => [path, sha256(String(content))]),
      )
    }
  })

  test('is counted from the bytes that arrived where the manifest has no hashes', async () => {
    const { slug } = await api.publish(owner.client, first)
    const files = toFiles({ ...first, 'c.js': 'C' }).map(({ hash: _, ...file }) => file)
    api.pass()
    await owner.client.publish({ files, slug })
    assert.deepEqual((await newest(slug)).changes, { added: 0, changed: 1, removed: 0 })
  })

  test('is relative to the previous kept version, when the one that it replaced was deleted', async () => {
    const { slug, ids } = await publishVersions({ 'a.txt': '1' }, { 'a.txt': '2', 'b.txt': '2' })
    await api.publish(owner.client, { 'draft.txt': 'never live' }, { slug, live: false })
    const { versionId } = await api.publish(owner.client, { 'a.txt': '3' }, { slug })
    const oldest = await owner.client.version(slug, ids[0]!)
    assert.deepEqual([oldest.changes, oldest.comparedWith, oldest.added], [null, null, []])
    await owner.client.restore(slug, ids[0]!)
    await owner.client.deleteVersion(slug, ids[1]!)
    const { comparedWith, changes } = await owner.client.version(slug, versionId)
    assert.deepEqual([comparedWith, changes], [ids[0], { added: 0, changed: 1, removed: 0 }])
  })

  test('is relative to the live version in a draft or preview, also when the one that it was based on was deleted', async () => {
    const { slug, ids } = await publishVersions({ 'a.txt': '1', 'b.txt': '1' })
    const merge = (more: object) =>
      api.publish(owner.client, { 'a.txt': '2' }, { slug, merge: true, ...more })
    const draft = await merge({ live: false })
    await merge({ preview: 'pr-1' })
    const preview = await merge({ preview: 'pr-1' })
    const live = await api.publish(owner.client, { 'a.txt': '2' }, { slug })
    await owner.client.deleteVersion(slug, ids[0]!)
    for (const { versionId } of [draft, preview]) {
      const { comparedWith, added } = await owner.client.version(slug, versionId)
      assert.deepEqual([comparedWith, added], [live.versionId, ['b.txt']])
    }
  })

  test('is relative to the version that it replaced, also when one between was undone', async () => {
    const { slug, ids } = await publishVersions({ 'a.txt': '1' }, { 'a.txt': '1', 'undone.txt': '2' })
    await owner.client.restore(slug, ids[0]!)
    const { versionId } = await api.publish(owner.client, { 'a.txt': '3' }, { slug })
    const { comparedWith, changes } = await owner.client.version(slug, versionId)
    assert.equal(comparedWith, ids[0])
    assert.deepEqual(changes, { added: 0, changed: 1, removed: 0 })
    assert.deepEqual((await newest(slug)).changes, changes)
  })
})

describe('the publisher of a version', () => {
  test('is its account, with a key or in the dashboard', async () => {
    const { slug } = await publishVersions(page)
    const { headers } = await browser(api, owner)
    const { json } = await api.request('POST', `/api/v1/publish/${slug}/duplicate`, { headers })
    for (const [one, way] of [
      [slug, 'key'],
      [json.slug, 'dashboard'],
    ] as const) {
      const { publishedBy, publishedWith } = await newest(one)
      assert.deepEqual([publishedBy, publishedWith], [owner.email, way])
    }
  })

  test('has the program that it used, as that names itself', async () => {
    const cases: [header: string, recorded: string | null][] = [
      ['my-tool/1.0', 'my-tool/1.0'],
      ['x'.repeat(61), null],
      ['<script>', null],
      ['', null],
    ]
    for (const [client, recorded] of cases) {
      const { slug } = await api.publish(owner.client.with({ client }), page)
      assert.equal((await newest(slug)).publishedClient, recorded, client)
    }
  })

  test('is empty for versions from before the site was claimed', async () => {
    const { slug, claimToken } = await api.publish(api.anonymous, page)
    await owner.client.claim(slug, claimToken!)
    const { publishedBy, publishedWith } = await newest(slug)
    assert.deepEqual([publishedBy, publishedWith], [null, 'anonymous'])
    await api.publish(owner.client, { 'index.html': 'mine' }, { slug })
    assert.equal((await newest(slug)).publishedBy, owner.email)
  })
})

test('the message of a version is one line, kept with the version, of a manifest and of an archive', async () => {
  const { slug, versionId } = await api.publish(
    owner.client,
    { 'index.html': 'one' },
    { message: ' Fix\n the \u202Emenu ' },
  )
  const archive = { contentType: 'application/x-tar', slug, message: 'Second' } as const
  api.pass()
  await owner.client.publishArchive(make('tar', { 'index.html': 'two' }), archive)
  await owner.client.restore(slug, versionId)
  assert.deepEqual(pluck((await owner.client.versions(slug)).versions, 'message'), ['Second', 'Fix the menu'])
})

describe('the thumbnail of a version', () => {
  const at = (url: string | null) => toTarget(url!)

  test('is shown with the version and the site, replaced under another address, and deleted with the version', async () => {
    const { slug, ids } = await publishVersions(page, { 'index.html': 'y' })
    const { thumbnailUrl } = await owner.client.putThumbnail(slug, ids[1]!, webp(640, 400))
    const [site] = (await owner.client.list({ q: slug })).publishes
    assert.deepEqual([site!.thumbnailUrl, (await newest(slug)).thumbnailUrl], [thumbnailUrl, thumbnailUrl])
    const { status, headers, body } = await api.request('GET', at(thumbnailUrl))
    assert.deepEqual([status, body], [200, webp(640, 400)])
    assert.equal(headers['content-type'], 'image/webp')
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['cache-control'], 'private, max-age=604800')
    const again = await owner.client.putThumbnail(slug, ids[1]!, webp(320, 200))
    assert.notEqual(again.thumbnailUrl, thumbnailUrl)
    assert.deepEqual((await api.request('GET', at(again.thumbnailUrl))).body, webp(320, 200))
    const { slug: copy } = await owner.client.duplicate(slug)
    assert.deepEqual((await api.request('GET', at((await newest(copy)).thumbnailUrl))).body, webp(320, 200))
    await owner.client.restore(slug, ids[0]!)
    assert.equal((await owner.client.details(slug)).thumbnailUrl, null)
    await owner.client.deleteVersion(slug, ids[1]!)
    assert.equal((await api.request('GET', at(again.thumbnailUrl))).status, 404)
    const { store } = await api.operator()
    assert.equal(await store.read.versions.findThumbnail(ids[1]!), undefined)
  })

  test('of a site with a password is shown to its owner only', async () => {
    const { slug, ids } = await publishVersions(page)
    const { thumbnailUrl } = await owner.client.putThumbnail(slug, ids[0]!, webp(2, 2))
    await owner.client.setMetadata(slug, { password: 'secret' })
    const { key } = await api.account()
    const statuses = [undefined, key, owner.key].map(async (key) => {
      return (await api.request('GET', at(thumbnailUrl), { key })).status
    })
    assert.deepEqual(await Promise.all(statuses), [404, 404, 200])
    const { headers } = await browser(api, owner)
    assert.equal((await api.request('GET', at(thumbnailUrl), { headers })).status, 200)
  })

  const put = (path: string, body: Buffer, headers: Record<string, string> = {}, key?: string) =>
    api.request('PUT', `/api/v1/publish/${path}/thumbnail`, {
      key,
      body,
      headers: { 'content-type': 'image/webp', ...headers },
    })

  test('is stored by the owner or with the claim token; the first one is free, all else is charged', async () => {
    const { slug, versionId, claimToken } = await api.publish(api.anonymous, page)
    const path = `${slug}/versions/${versionId}`
    const token = { 'x-slipway-claim-token': claimToken! }
    const { key } = await api.account()
    const refused = await put(path, webp(2, 2), { 'x-slipway-claim-token': 'wrong' })
    assert.equal(refused.json.code, 'INVALID_CLAIM_TOKEN')
    const first = await put(path, webp(2, 2), token)
    assert.deepEqual([first.status, readRemaining(first)], [200, readRemaining(refused)])
    const second = await put(path, webp(2, 2), token)
    assert.deepEqual([second.status, readRemaining(second)], [200, readRemaining(first) - 1])
    assert.equal((await put(path, webp(2, 2), {}, key)).status, 404)
    assert.equal((await put(path, webp(2, 2))).status, 401)
    await owner.client.claim(slug, claimToken!)
    assert.equal((await put(path, webp(2, 2), token)).status, 401)
  })

  const changed = (at: number, ...bytes: number[]) => {
    const picture = webp(2, 2)
    picture.set(bytes, at)
    return picture
  }
  const text = (tag: string) => [...Buffer.from(tag)]
  const pictures: [what: string, body: Buffer, status: number, type?: string][] = [
    ['of the maximum size', webp(1280, 1280, 20_000), 200],
    ['that is too large', webp(2, 2, 20_001), 413],
    ['that is too wide', webp(1281, 2), 400],
    ['that is too high', webp(2, 1281), 400],
    ['of another type', webp(2, 2), 415, 'image/png'],
    ['that is a page', Buffer.from('<script>alert(1)</script>'.repeat(3)), 400],
    ['that is cut off', webp(2, 2).subarray(0, 39), 400],
    ['with a wrong length', changed(4, 0xff, 0xff), 400],
    ['with an unknown chunk', changed(12, ...text('ANIM')), 400],
    ['in lossy WebP', changed(12, ...text('VP8 '), 20, 0, 0, 0, 0, 0, 0, 0x9d, 1, 0x2a, 2, 0, 2, 0), 200],
    [
      'in lossy WebP without pixels',
      changed(12, ...text('VP8 '), 20, 0, 0, 0, 0, 0, 0, 0x9d, 1, 0x2a, 0, 0, 2, 0),
      400,
    ],
    ['in extended WebP', changed(12, ...text('VP8X'), 10, 0, 0, 0, 0x10, 0, 0, 0, 9, 0, 0, 9, 0, 0), 200],
    ['that moves', changed(12, ...text('VP8X'), 10, 0, 0, 0, 0x02, 0, 0, 0, 9, 0, 0, 9, 0, 0), 400],
  ]
  test('is a WebP picture of at most 1280 by 1280 pixels and 20 kB that does not move', async () => {
    const { slug, ids } = await publishVersions(page)
    for (const [what, body, status, type] of pictures) {
      const headers = type ? { 'content-type': type } : {}
      const answer = await put(`${slug}/versions/${ids[0]}`, body, headers, owner.key)
      assert.equal(answer.status, status, `${what}: ${answer.text}`)
    }
  })
})

describe('a preview link', () => {
  const bare = (url: string) => api.visit(url, '/deep/page.txt')
  const contents = { 'index.html': 'one', 'deep/page.txt': 'secret page' }

  test('shows a site with a password to its owner, with all its files and versions, for ten minutes', async () => {
    const { slug, siteUrl, ids } = await publishVersions(contents, { ...contents, 'index.html': 'two' })
    await owner.client.setMetadata(slug, { password: 'secret' })
    assert.equal((await api.visit(siteUrl)).status, 401)
    const { url, expiresAt } = await owner.client.previewLink(slug)
    assert.equal(Date.parse(expiresAt), Math.floor((api.clock.now + 600_000) / 1000) * 1000)
    const [live, deep] = [await api.visit(url), await bare(url)]
    assert.deepEqual([live.text, deep.text], ['two', 'secret page'])
    assert.equal(live.headers['cache-control'], 'private, no-store')
    assert.equal(live.headers['referrer-policy'], 'same-origin')
    assert.equal(live.headers['x-robots-tag'], 'noindex')
    const earlier = await owner.client.previewLink(slug, ids[0])
    assert.equal(await text(earlier.url), 'one')
    assert.equal((await owner.client.visits(slug)).totals.requests, 0)
    api.clock.now = Date.parse(expiresAt)
    assert.equal((await api.visit(url)).status, 404)
  })

  test('ends when the password changes, and when a collaborator loses access', async () => {
    const { slug } = await publishVersions(contents)
    await owner.client.setMetadata(slug, { password: 'secret' })
    const { url } = await owner.client.previewLink(slug)
    assert.equal((await bare(url)).status, 200)
    await owner.client.setMetadata(slug, { password: 'another' })
    assert.equal((await bare(url)).status, 401)
    const reader = await api.account()
    await owner.client.addCollaborator(slug, reader.email)
    const given = await reader.client.previewLink(slug)
    assert.equal((await bare(given.url)).status, 200)
    await owner.client.removeCollaborator(slug, reader.email)
    assert.equal((await bare(given.url)).status, 401)
    const pending = await api.create(owner.client, contents)
    await expectFailure(owner.client.previewLink(pending.slug), 'SITE_PENDING')
  })

  test('is accepted only as it was signed', async () => {
    const { slug } = await publishVersions(contents)
    const { slug: other } = await publishVersions(contents)
    for (const one of [slug, other]) await owner.client.setMetadata(one, { password: 'secret' })
    const { url } = await owner.client.previewLink(slug)
    const [token] = new URL(url).host.split('--') as [string]
    const flip = (at: number) => token.slice(0, at) + (token[at] === '0' ? '1' : '0') + token.slice(at + 1)
    for (const at of [1, 7, 8, 25])
      assert.equal((await bare(url.replace(token, flip(at)))).status, 401, `${at}`)
    assert.equal((await bare(url.replace(slug, other))).status, 401)
    assert.equal((await bare(url)).status, 200)
  })
})
