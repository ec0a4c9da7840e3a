import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { SiteMetadata } from '../../protocol/api/publish.schema.ts'
import { pluck } from '../support/pluck.ts'
import { DAY_MS, expectFailure, HOUR_MS, startApi } from './api.ts'
import { sha256, toManifest } from './content.ts'

const api = await startApi()
const owner = await api.account()

const text = async (siteUrl: string, path = '/') => (await api.visit(siteUrl, path)).text

describe('finalize', () => {
  test('can be repeated for the live version with the same response, marked as repeated', async () => {
    const first = await api.publish(owner.client, { 'index.html': 'one' })
    const { slug } = first
    const {
      uploaded: _,
      uploadedBytes: __,
      changes: ___,
      ...second
    } = await api.publish(owner.client, { 'a.txt': 'two' }, { slug })
    const { updatedAt } = await owner.client.details(slug)
    for (let round = 0; round < 3; round++) {
      api.pass(HOUR_MS)
      const again = await owner.client.finalize(slug, { versionId: second.versionId })
      assert.deepEqual(again, { ...second, replayed: true })
    }
    assert.equal((await owner.client.details(slug)).updatedAt, updatedAt)
  })

  test('names missing uploads, keeps the received ones, and succeeds once all are received', async () => {
    const letters = [...'abcdefghijklmnopqrstuvwxyz']
    const contents = Object.fromEntries(letters.map((letter) => [`${letter}.txt`, letter]))
    const { slug, siteUrl, upload } = await api.create(owner.client, contents)
    const send = (target: (typeof upload.uploads)[number]) =>
      api.anonymous.upload(target, Buffer.from(target.path[0]!))
    const [a, b, ...others] = upload.uploads
    await send(b!)
    const error = await expectFailure(owner.client.finalize(slug, upload), 'UPLOADS_MISSING')
    const missing = [a!, ...others].map(({ path }) => path)
    assert.deepEqual(error.details, { missing: missing.slice(0, 20), count: 25 })
    assert.match(error.message, /^25 files haven't been uploaded: a\.txt, c\.txt, d\.txt and 22 more$/)
    assert.equal((await api.visit(siteUrl, '/b.txt')).status, 404)
    await Promise.all([a!, ...others].map(send))
    await owner.client.finalize(slug, upload)
    assert.equal(await text(siteUrl, '/b.txt'), 'b')
  })
})

test('two pending versions have separate uploads, even of the same path and hash', async () => {
  const { slug, siteUrl } = await api.publish(owner.client, { 'index.html': 'zero' })
  const contents = { 'index.html': 'same' }
  const one = await api.update(owner.client, slug, contents)
  const two = await api.update(owner.client, slug, contents)
  await api.upload(one.upload, contents)
  await expectFailure(owner.client.finalize(slug, two.upload), 'UPLOADS_MISSING')
  await owner.client.finalize(slug, one.upload)
  await expectFailure(owner.client.finalize(slug, two.upload), 'UPLOADS_MISSING')
  assert.equal(await text(siteUrl), 'same')
})

describe('a publish based on an older version', () => {
  test('is refused when it is staged, with the live version in the error', async () => {
    const first = await api.publish(owner.client, { 'index.html': 'one' })
    const { slug } = first
    const second = await api.publish(
      owner.client,
      { 'index.html': 'two' },
      { slug, baseVersionId: first.versionId },
    )
    const late = api.update(owner.client, slug, { 'index.html': 'three' }, { baseVersionId: first.versionId })
    const { details } = await expectFailure(late, 'VERSION_CONFLICT')
    const contentHash = sha256(JSON.stringify(['index.html', sha256('two'), 'text/html; charset=utf-8']))
    assert.deepEqual(details, { currentVersionId: second.versionId, contentHash })
  })

  test('is refused at finalize without a change when another version went live since', async () => {
    const first = await api.publish(owner.client, { 'index.html': 'one' })
    const { slug, siteUrl } = first
    const contents = { 'index.html': 'mine' }
    const { upload } = await api.update(owner.client, slug, contents, { baseVersionId: first.versionId })
    await api.upload(upload, contents)
    const theirs = await api.publish(owner.client, { 'index.html': 'theirs' }, { slug })
    const { details } = await expectFailure(owner.client.finalize(slug, upload), 'VERSION_CONFLICT')
    assert.partialDeepStrictEqual(details, { currentVersionId: theirs.versionId })
    assert.equal(await text(siteUrl), 'theirs')
    await owner.client.restore(slug, first.versionId)
    await owner.client.finalize(slug, upload)
    assert.equal(await text(siteUrl), 'mine')
  })

  test('succeeds or fails as a whole when many run concurrently', async () => {
    const base = await api.publish(owner.client, { 'index.html': 'base' })
    const { slug, siteUrl, versionId: baseVersionId } = base
    const names = ['one', 'two', 'three', 'four', 'five']
    const outcomes = await Promise.allSettled(
      names.map((name) => api.publish(owner.client, { 'index.html': name }, { slug, baseVersionId })),
    )
    const winners = names.filter((_, at) => outcomes[at]!.status === 'fulfilled')
    assert.equal(winners.length, 1)
    assert.equal(await text(siteUrl), winners[0])
  })
})

test('finalize is allowed for any client that knows the version id of an anonymous site', async () => {
  const contents = { 'index.html': 'x' }
  const { slug, siteUrl, upload } = await api.create(api.anonymous, contents)
  await api.upload(upload, contents)
  await expectFailure(api.anonymous.finalize(slug, { versionId: '0'.repeat(26) }), 'NOT_FOUND')
  await owner.client.finalize(slug, upload)
  assert.equal(await text(siteUrl), 'x')
})

describe('ttlSeconds', () => {
  test('counts from finalize, and the site expires on the second', async () => {
    const contents = { 'index.html': 'short' }
    const { slug, siteUrl, upload } = await owner.client.create({
      files: toManifest(contents),
      ttlSeconds: 60,
    })
    await api.upload(upload, contents)
    api.pass(HOUR_MS / 2)
    await owner.client.finalize(slug, upload)
    const { expiresAt } = await owner.client.details(slug)
    assert.equal(expiresAt, new Date(api.clock.now + 60_000).toISOString())
    api.pass(59_999)
    assert.equal(await text(siteUrl), 'short')
    api.pass()
    assert.equal((await api.visit(siteUrl)).status, 410)
    await expectFailure(owner.client.details(slug), 'SITE_EXPIRED')
  })

  test('is refused for an anonymous site, also in an update, and its end stays', async () => {
    const files = toManifest({ 'index.html': 'x' })
    const { slug, claimToken, expiresAt } = await api.publish(api.anonymous, { 'index.html': 'x' })
    for (const ttlSeconds of [31_536_000, null])
      for (const call of [
        () => api.anonymous.create({ files, ttlSeconds }),
        () => api.anonymous.create({ files, viewer: { ttlSeconds } }),
        () => api.anonymous.update(slug, { files, claimToken: claimToken!, ttlSeconds }),
      ]) {
        const refused = await expectFailure(call(), 'VALIDATION_ERROR')
        assert.match(refused.message, /ttlSeconds: requires an account/)
      }
    api.clock.now = Date.parse(expiresAt!)
    await expectFailure(api.anonymous.update(slug, { files, claimToken: claimToken! }), 'SITE_EXPIRED')
  })
})

test('a pending site is deleted after a day, and not earlier', async () => {
  const live = await api.publish(owner.client, { 'index.html': sha256('live') })
  const { slug, upload } = await api.create(owner.client, { 'index.html': 'x' })
  const created = api.clock.now
  const { upload: pending } = await api.update(owner.client, live.slug, { 'index.html': 'pending' })
  api.clock.now = created + DAY_MS
  await api.sweep('abandoned')
  assert.equal((await owner.client.details(slug)).status, 'pending')
  assert.equal((await owner.client.details(live.slug)).pendingVersionId, pending.versionId)
  api.pass(2)
  await api.sweep('abandoned')
  const deleted = await owner.request('POST', `/api/v1/publish/${slug}/finalize`, { json: upload })
  assert.ok([404, 410].includes(deleted.status), deleted.text)
  await expectFailure(owner.client.finalize(live.slug, pending), 'NOT_FOUND')
  assert.equal(await text(live.siteUrl), sha256('live'))
})

/** A live site with a draft beside it. */
async function siteWithDraft(more: SiteMetadata = {}, metadata: SiteMetadata = {}) {
  const live = await api.publish(owner.client, { 'index.html': 'live' }, metadata)
  const { slug, siteUrl } = live
  const draft = await api.publish(owner.client, { 'index.html': 'draft' }, { slug, live: false, ...more })
  return { slug, siteUrl, live, draft }
}

describe('a draft', () => {
  test('is served at a preview URL of its own and listed as never published, and the site stays as it is', async () => {
    const { slug, siteUrl, live, draft } = await siteWithDraft()
    assert.equal(draft.status, 'active')
    assert.equal(draft.currentVersionId, live.versionId)
    assert.equal(await text(siteUrl), 'live')
    const preview = await api.visit(draft.previewUrl)
    assert.equal(preview.text, 'draft')
    assert.match(`${preview.headers['x-robots-tag']}`, /noindex/)
    assert.match(`${preview.headers['cache-control']}`, /no-store|private|no-cache/)
    const { versions } = await owner.client.versions(slug)
    assert.deepEqual(
      versions.map(({ versionId, current, publishedAt }) => [versionId, current, publishedAt === null]),
      [
        [draft.versionId, false, true],
        [live.versionId, true, false],
      ],
    )
  })

  test('goes live when it is restored, with its metadata, and later changes stay when it is restored again', async () => {
    const metadata = { title: 'Draft', description: null, ttlSeconds: 3600 }
    const { slug, siteUrl, live, draft } = await siteWithDraft(metadata, { title: 'Live', description: 'D' })
    const read = async () => {
      const { title, description, expiresAt } = await owner.client.details(slug)
      return [title, description, expiresAt]
    }
    assert.deepEqual(await read(), ['Live', 'D', null])
    api.pass(5000)
    const { currentVersionId, previousVersionId } = await owner.client.restore(slug, draft.versionId)
    assert.deepEqual([currentVersionId, previousVersionId], [draft.versionId, live.versionId])
    assert.match(await text(siteUrl), /draft$/)
    assert.deepEqual(await read(), ['Draft', null, new Date(api.clock.now + 3600_000).toISOString()])
    const { versions } = await owner.client.versions(slug)
    const { publishedAt } = versions.find(({ versionId }) => versionId === draft.versionId)!
    assert.equal(publishedAt, new Date(api.clock.now).toISOString())
    await owner.client.setMetadata(slug, { title: 'Later' })
    for (const { versionId } of [live, draft]) {
      await owner.client.restore(slug, versionId)
      assert.equal((await owner.client.details(slug)).title, 'Later')
    }
  })

  test('can be the first version of a site, which is pending until it is live', async () => {
    const draft = await api.publish(owner.client, { 'index.html': 'draft' }, { live: false })
    const { slug, siteUrl, previewUrl } = draft
    assert.equal(draft.status, 'pending')
    assert.equal(draft.currentVersionId, null)
    assert.equal((await owner.client.details(slug)).status, 'pending')
    assert.equal((await api.visit(siteUrl)).status, 404)
    assert.equal(await text(previewUrl), 'draft')
    await expectFailure(owner.client.duplicate(slug), 'SITE_PENDING')
    await owner.client.restore(slug, draft.versionId)
    assert.equal(await text(siteUrl), 'draft')
  })

  test('of an anonymous site needs no key, but the claim token to go live', async () => {
    const draft = await api.publish(api.anonymous, { 'index.html': 'draft' }, { live: false })
    const { slug, versionId, claimToken } = draft
    assert.equal(await text(draft.previewUrl), 'draft')
    // The draft's URL contains slug and version id, so that its visitors know both.
    const [, idInAddress] = /\/\/([0-9a-z]{26})--/.exec(draft.previewUrl)!
    for (const client of [api.anonymous, owner.client]) {
      await expectFailure(client.finalize(slug, { versionId: idInAddress! }), 'INVALID_CLAIM_TOKEN')
      await expectFailure(client.finalize(slug, { versionId, live: true }), 'INVALID_CLAIM_TOKEN')
      await expectFailure(client.finalize(slug, { versionId, claimToken: 'x' }), 'INVALID_CLAIM_TOKEN')
    }
    assert.equal((await api.anonymous.finalize(slug, { versionId, live: false })).replayed, true)
    assert.equal((await api.visit(draft.siteUrl)).status, 404)
    await api.anonymous.finalize(slug, { versionId, claimToken: claimToken! })
    assert.equal(await text(draft.siteUrl), 'draft')
    const again = await api.anonymous.finalize(slug, { versionId })
    assert.equal(again.replayed, true, 'who does not know the token may repeat what changes nothing')
  })

  test('beside an anonymous live version goes live by the claim token in a header only', async () => {
    const live = await api.publish(api.anonymous, { 'index.html': 'live' })
    const { slug, siteUrl, claimToken } = live
    const options = { slug, claimToken: claimToken!, live: false }
    const { versionId } = await api.publish(api.anonymous, { 'index.html': 'draft' }, options)
    const finalize = (headers: Record<string, string>, more: object = {}) =>
      api.request('POST', `/api/v1/publish/${slug}/finalize`, { headers, json: { versionId, ...more } })
    for (const answer of [
      await finalize({}),
      await finalize({ 'x-slipway-claim-token': 'x' }),
      await finalize({ 'x-slipway-claim-token': '' }),
      await finalize({}, { claimToken: '' }),
      await api.request('POST', `/api/v1/publish/${slug}/finalize?claimToken=${claimToken}`, {
        json: { versionId },
      }),
    ])
      assert.equal(answer.json.code, 'INVALID_CLAIM_TOKEN')
    assert.equal(await text(siteUrl), 'live')
    assert.equal((await finalize({ 'x-slipway-claim-token': claimToken! })).status, 200)
    assert.equal(await text(siteUrl), 'draft')
  })
})

const contents = { 'index.html': 'home', 'a.txt': 'a', 'b.txt': 'b' }

describe('refreshed upload URLs', () => {
  test('cover exactly the missing files, and do not invalidate the first ones', async () => {
    const { slug, upload } = await api.create(owner.client, contents)
    await api.anonymous.upload(upload.uploads[1]!, Buffer.from('a'))
    const fresh = await owner.client.refresh(slug, upload)
    assert.deepEqual(pluck(fresh.upload.uploads, 'path'), ['index.html', 'b.txt'])
    const { versionId, finalizeUrl, expiresInSeconds } = fresh.upload
    assert.deepEqual([versionId, finalizeUrl, expiresInSeconds], [upload.versionId, upload.finalizeUrl, 3600])
    for (const plan of [fresh.upload, upload]) await api.upload(plan, contents)
    assert.deepEqual((await owner.client.refresh(slug, upload)).upload.uploads, [])
    await owner.client.finalize(slug, upload)
  })

  test('are valid for another hour after the first ones have expired', async () => {
    const { slug, siteUrl, upload } = await api.create(owner.client, contents)
    api.pass(HOUR_MS)
    for (const target of upload.uploads) {
      await expectFailure(api.anonymous.upload(target, Buffer.from(contents['index.html'])), 'UPLOAD_EXPIRED')
    }
    const fresh = await owner.client.refresh(slug, upload)
    api.pass(HOUR_MS - 1000)
    await api.upload(fresh.upload, contents)
    await owner.client.finalize(slug, upload)
    assert.equal((await api.visit(siteUrl)).text, 'home')
  })

  test('are refused for a version that is finalized, deleted or of another site, as a finalize is', async () => {
    const { slug, versionId } = await api.publish(owner.client, contents)
    await assert.rejects(owner.client.refresh(slug, { versionId }), {
      code: 'UPLOAD_EXPIRED',
      hint: 'Publish the files as a new version.',
    })
    const other = await api.create(owner.client, contents)
    await expectFailure(owner.client.refresh(slug, other.upload), 'NOT_FOUND')
    await expectFailure(owner.client.finalize(slug, other.upload), 'NOT_FOUND')
    await owner.client.deleteVersion(other.slug, other.upload.versionId)
    await expectFailure(owner.client.refresh(other.slug, other.upload), 'NOT_FOUND')
  })
})
