import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Account, Api, DAY_MS, expectFailure } from './api.ts'
import { sha256 } from './content.ts'

let api: Api
let owner: Account
before(async () => {
  api = await Api.start()
  owner = await api.account()
})
after(() => api[Symbol.asyncDispose]())

const text = async (siteUrl: string, path = '/') => (await api.visit(siteUrl, path)).text

/** A site with `count` versions, numbered from 0; the newest is live. */
async function siteWith(count: number) {
  let slug: string | undefined
  const ids: string[] = []
  let siteUrl = ''
  for (let number = 0; number < count; number++) {
    const published = await api.publish(
      owner.client,
      { 'index.html': `${number}`, 'same.txt': 'same' },
      { slug },
    )
    slug = published.slug
    siteUrl = published.siteUrl
    ids.push(published.versionId)
  }
  return { slug: slug!, siteUrl, ids }
}

const kept = async (slug: string) => {
  await api.sweep('old-versions')
  return (await owner.client.versions(slug)).versions
}

describe('the versions of a site', () => {
  test('are listed newest first, with their details and preview URLs', async () => {
    const { slug, siteUrl, ids } = await siteWith(2)
    const { versions } = await owner.client.versions(slug)
    const now = new Date(api.clock.now).toISOString()
    assert.deepEqual(versions[0], {
      versionId: ids[1],
      createdAt: now,
      publishedAt: now,
      publishedBy: owner.email,
      publishedWith: 'key',
      fileCount: 2,
      totalBytes: 5,
      current: true,
      previewUrl: siteUrl.replace('://', `://${ids[1]}--`),
      changes: { added: 0, changed: 1, removed: 0 },
    })
    assert.deepEqual(
      versions.map(({ versionId, current }) => [versionId, current]),
      [
        [ids[1], true],
        [ids[0], false],
      ],
    )
    for (const [number, { previewUrl }] of versions.toReversed().entries()) {
      assert.equal(await text(previewUrl), `${number}`)
    }
  })

  test('include finalized versions only', async () => {
    const { slug, ids } = await siteWith(1)
    await api.update(owner.client, slug, { 'index.html': 'pending' })
    assert.deepEqual(
      (await owner.client.versions(slug)).versions.map(({ versionId }) => versionId),
      ids,
    )
    const pending = await api.create(owner.client, { 'index.html': 'x' })
    assert.deepEqual(await owner.client.versions(pending.slug), { versions: [] })
  })

  test('are limited to ten: the oldest ones are deleted, with the blobs that only they referenced', async () => {
    const { slug, ids } = await siteWith(13)
    const versions = await kept(slug)
    assert.deepEqual(
      versions.map(({ versionId }) => versionId),
      ids.slice(3).reverse(),
    )
    await expectFailure(owner.client.restore(slug, ids[2]!), 'NOT_FOUND')
    api.pass(DAY_MS)
    await api.sweep('blobs')
    assert.equal((await owner.client.restore(slug, ids[3]!)).currentVersionId, ids[3])
  })

  test('include the live one, however old it is', async () => {
    const { slug, siteUrl, ids } = await siteWith(3)
    await owner.client.restore(slug, ids[0]!)
    const drafts = []
    for (let number = 0; number < 12; number++) {
      drafts.push(
        (await api.publish(owner.client, { 'index.html': `draft ${number}` }, { slug, live: false }))
          .versionId,
      )
    }
    const versions = await kept(slug)
    assert.deepEqual(
      versions.map(({ versionId }) => versionId),
      [...drafts.slice(3).reverse(), ids[0]],
    )
    assert.equal(await text(siteUrl), '0')
  })

  test('are limited by the setting of the operator', async () => {
    await using few = await Api.start({ VERSIONS_KEPT: '2' })
    const { client } = await few.account()
    const { slug } = await few.publish(client, { 'index.html': '0' })
    for (const number of ['1', '2', '3']) await few.publish(client, { 'index.html': number }, { slug })
    await few.sweep('old-versions')
    assert.equal((await client.versions(slug)).versions.length, 2)
    assert.equal((await client.me()).limits.versionsKept, 2)
  })
})

describe('restoring', () => {
  test('makes a version live again at once, without uploads', async () => {
    const { slug, siteUrl, ids } = await siteWith(3)
    api.pass(5000)
    const { previewUrl, ...answer } = await owner.client.restore(slug, ids[0]!)
    assert.deepEqual(answer, {
      success: true,
      slug,
      siteUrl,
      status: 'active',
      versionId: ids[0],
      currentVersionId: ids[0],
      previousVersionId: ids[2],
    })
    assert.equal(await text(previewUrl), '0')
    assert.equal(await text(siteUrl), '0')
    const details = await owner.client.details(slug)
    assert.equal(details.currentVersionId, ids[0])
    assert.equal(details.updatedAt, new Date(api.clock.now).toISOString())
    assert.equal(details.files.find(({ path }) => path === 'index.html')!.hash, sha256('0'))
  })

  test('can be repeated, with a response that shows it', async () => {
    const { slug, ids } = await siteWith(2)
    const once = await owner.client.restore(slug, ids[0]!)
    assert.deepEqual(await owner.client.restore(slug, ids[0]!), { ...once, replayed: true })
  })

  test('can switch back and forth', async () => {
    const { slug, siteUrl, ids } = await siteWith(2)
    for (let round = 0; round < 3; round++) {
      await owner.client.restore(slug, ids[0]!)
      assert.equal(await text(siteUrl), '0')
      await owner.client.restore(slug, ids[1]!)
      assert.equal(await text(siteUrl), '1')
    }
  })

  test('does not change when a version was first published', async () => {
    const { slug, ids } = await siteWith(2)
    const before = (await owner.client.versions(slug)).versions
    api.pass(5000)
    await owner.client.restore(slug, ids[0]!)
    const after = (await owner.client.versions(slug)).versions
    assert.deepEqual(
      after.map(({ publishedAt }) => publishedAt),
      before.map(({ publishedAt }) => publishedAt),
    )
  })

  test('makes the version the one that the next update is compared with', async () => {
    const { slug, ids } = await siteWith(2)
    await owner.client.restore(slug, ids[0]!)
    const { upload } = await api.update(owner.client, slug, { 'index.html': '0', 'same.txt': 'same' })
    assert.equal(upload.uploads.length, 0)
  })

  test('is refused for pending versions, of another site and for unknown ones', async () => {
    const { slug } = await siteWith(1)
    const other = await siteWith(1)
    const { upload } = await api.update(owner.client, slug, { 'index.html': 'pending' })
    await expectFailure(owner.client.restore(slug, upload.versionId), 'UPLOADS_MISSING')
    await expectFailure(owner.client.restore(slug, other.ids[0]!), 'NOT_FOUND')
    await expectFailure(owner.client.restore(slug, 'x'), 'NOT_FOUND')
  })
})

describe('deleting a version', () => {
  test('is permanent', async () => {
    const { slug, siteUrl, ids } = await siteWith(3)
    const [first] = ids
    const { previewUrl } = (await owner.client.versions(slug)).versions.at(-1)!
    assert.equal(await text(previewUrl), '0')
    assert.deepEqual(await owner.client.deleteVersion(slug, first!), {
      slug,
      versionId: first,
      deleted: true,
    })
    assert.equal((await api.visit(previewUrl)).status, 404)
    await expectFailure(owner.client.restore(slug, first!), 'NOT_FOUND')
    await expectFailure(owner.client.deleteVersion(slug, first!), 'NOT_FOUND')
    await expectFailure(owner.client.finalize(slug, { versionId: first! }), 'NOT_FOUND')
    assert.equal((await owner.client.versions(slug)).versions.length, 2)
    assert.equal(await text(siteUrl), '2')
  })

  test('is VERSION_LIVE for the live one', async () => {
    const { slug, siteUrl, ids } = await siteWith(2)
    await expectFailure(owner.client.deleteVersion(slug, ids[1]!), 'VERSION_LIVE')
    await owner.client.restore(slug, ids[0]!)
    await owner.client.deleteVersion(slug, ids[1]!)
    assert.equal(await text(siteUrl), '0')
  })

  test('deletes no blobs that another version references', async () => {
    const { slug, siteUrl, ids } = await siteWith(2)
    await owner.client.deleteVersion(slug, ids[0]!)
    api.pass(DAY_MS)
    await api.sweep('blobs')
    assert.equal(await text(siteUrl, '/same.txt'), 'same')
    const operator = await api.operator()
    assert.ok(await operator.blobs.bytes(sha256('same')))
  })

  test('ends a pending one', async () => {
    const { slug } = await siteWith(1)
    const { upload } = await api.update(owner.client, slug, { 'index.html': 'pending' })
    await owner.client.deleteVersion(slug, upload.versionId)
    assert.equal((await owner.client.details(slug)).pendingVersionId, null)
    await expectFailure(owner.client.finalize(slug, upload), 'NOT_FOUND')
  })

  test('is refused for a version of another site', async () => {
    const [one, other] = [await siteWith(1), await siteWith(2)]
    await expectFailure(owner.client.deleteVersion(one.slug, other.ids[0]!), 'NOT_FOUND')
    assert.equal((await owner.client.versions(other.slug)).versions.length, 2)
  })
})
