import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { SiteMetadata } from '../../protocol/api/publish.ts'
import { type Account, Api, expectFailure } from './api.ts'

let api: Api
let owner: Account
before(async () => {
  api = await Api.start()
  owner = await api.account()
})
after(() => api[Symbol.asyncDispose]())

const text = async (siteUrl: string, path = '/') => (await api.visit(siteUrl, path)).text

/** A live site with a draft beside it. */
async function siteWithDraft(more: SiteMetadata = {}, metadata: SiteMetadata = {}) {
  const live = await api.publish(owner.client, { 'index.html': 'live' }, metadata)
  const { slug, siteUrl } = live
  const draft = await api.publish(owner.client, { 'index.html': 'draft' }, { slug, live: false, ...more })
  return { slug, siteUrl, live, draft }
}

describe('a draft', () => {
  test('is served at a preview URL of its own, and the site stays as it is', async () => {
    const { siteUrl, live, draft } = await siteWithDraft()
    assert.equal(draft.status, 'active')
    assert.equal(draft.currentVersionId, live.versionId)
    assert.equal(await text(siteUrl), 'live')
    const preview = await api.visit(draft.previewUrl)
    assert.equal(preview.text, 'draft')
    assert.match(`${preview.headers['x-robots-tag']}`, /noindex/)
    assert.match(`${preview.headers['cache-control']}`, /no-store|private|no-cache/)
  })

  test('is listed among the versions as never published', async () => {
    const { slug, live, draft } = await siteWithDraft()
    const { versions } = await owner.client.versions(slug)
    assert.deepEqual(
      versions.map(({ versionId, current, publishedAt }) => [versionId, current, publishedAt === null]),
      [
        [draft.versionId, false, true],
        [live.versionId, true, false],
      ],
    )
  })

  test('goes live when it is restored, without another upload', async () => {
    const { slug, siteUrl, live, draft } = await siteWithDraft()
    const answer = await owner.client.restore(slug, draft.versionId)
    assert.equal(answer.currentVersionId, draft.versionId)
    assert.equal(answer.previousVersionId, live.versionId)
    assert.equal(await text(siteUrl), 'draft')
    const { versions } = await owner.client.versions(slug)
    assert.equal(
      versions.find(({ versionId }) => versionId === draft.versionId)!.publishedAt,
      new Date(api.clock.now).toISOString(),
    )
  })

  test('goes live when it is finalized again without live: false', async () => {
    const { slug, siteUrl, draft } = await siteWithDraft()
    await owner.client.finalize(slug, { versionId: draft.versionId })
    assert.equal(await text(siteUrl), 'draft')
  })

  test('can be finalized as a draft again, with a response that shows it and without a change', async () => {
    const { slug, siteUrl, draft } = await siteWithDraft()
    const again = await owner.client.finalize(slug, { versionId: draft.versionId, live: false })
    assert.equal(again.replayed, true)
    assert.equal(await text(siteUrl), 'live')
  })

  test('does not unpublish the live version when that is finalized as a draft', async () => {
    const { slug, siteUrl, live } = await siteWithDraft()
    const again = await owner.client.finalize(slug, { versionId: live.versionId, live: false })
    assert.equal(again.currentVersionId, live.versionId)
    assert.equal(await text(siteUrl), 'live')
  })

  test('sets its metadata only once it is live', async () => {
    const metadata = { title: 'Draft', description: null, ttlSeconds: 3600 }
    const { slug, draft } = await siteWithDraft(metadata, { title: 'Live', description: 'D' })
    const before = await owner.client.details(slug)
    assert.deepEqual([before.title, before.description, before.expiresAt], ['Live', 'D', null])
    api.pass(5000)
    await owner.client.restore(slug, draft.versionId)
    const after = await owner.client.details(slug)
    assert.deepEqual([after.title, after.description], ['Draft', null])
    assert.equal(after.expiresAt, new Date(api.clock.now + 3600_000).toISOString())
  })

  test('sets its metadata once: later changes stay when the version is restored again', async () => {
    const { slug, live, draft } = await siteWithDraft({ title: 'Draft' })
    await owner.client.restore(slug, draft.versionId)
    await owner.client.setMetadata(slug, { title: 'Later' })
    await owner.client.restore(slug, live.versionId)
    assert.equal((await owner.client.details(slug)).title, 'Later')
    await owner.client.restore(slug, draft.versionId)
    assert.equal((await owner.client.details(slug)).title, 'Later')
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

  test('can be replaced by another one, and deleted', async () => {
    const { slug, draft } = await siteWithDraft()
    await owner.client.deleteVersion(slug, draft.versionId)
    assert.equal((await api.visit(draft.previewUrl)).status, 404)
    await expectFailure(owner.client.restore(slug, draft.versionId), 'NOT_FOUND')
  })

  test('is refused when another version than its base went live since', async () => {
    const first = await api.publish(owner.client, { 'index.html': 'one' })
    const { slug } = first
    const contents = { 'index.html': 'draft' }
    const { upload } = await api.update(owner.client, slug, contents, { baseVersionId: first.versionId })
    await api.upload(upload, contents)
    await api.publish(owner.client, { 'index.html': 'two' }, { slug })
    await expectFailure(
      owner.client.finalize(slug, { versionId: upload.versionId, live: false }),
      'VERSION_CONFLICT',
    )
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
      assert.deepEqual([answer.status, answer.json.code], [403, 'INVALID_CLAIM_TOKEN'])
    assert.equal(await text(siteUrl), 'live')
    assert.equal((await finalize({ 'x-slipway-claim-token': claimToken! })).status, 200)
    assert.equal(await text(siteUrl), 'draft')
  })

  test('of a claimed site can go live only by its owner', async () => {
    const draft = await api.publish(api.anonymous, { 'index.html': 'draft' }, { live: false })
    const { slug, versionId, claimToken } = draft
    await owner.client.claim(slug, claimToken!)
    const withToken = api.anonymous.finalize(slug, { versionId, claimToken: claimToken! })
    await expectFailure(withToken, 'UNAUTHORIZED')
    await owner.client.finalize(slug, { versionId })
    assert.equal(await text(draft.siteUrl), 'draft')
  })
})
