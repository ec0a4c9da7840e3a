import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readBlob } from '../blobs/bytes.ts'
import { pluck } from '../support/pluck.ts'
import { Api, DAY_MS, expectFailure, HOUR_MS, startApi } from './api.ts'
import { sha256, toManifest } from './content.ts'

const LIFETIME_DAYS = 10
const api = await startApi({ TRASH_LIFETIME: `${LIFETIME_DAYS}d` })

/** A deleted site with two versions, a draft, settings and bytes that no other site has. */
async function deletedSite() {
  const account = await api.account()
  const { client } = account
  const bytes = `the first version of ${account.email}`
  const first = await api.publish(client, { 'index.html': bytes })
  const { slug } = first
  const live = await api.publish(client, { 'index.html': 'live' }, { slug, title: 'Bakery' })
  const draft = await api.publish(client, { 'index.html': 'draft' }, { slug, live: false })
  await client.setMetadata(slug, { password: 'open sesame' })
  await client.addCollaborator(slug, 'colleague@example.com')
  const before = await client.details(slug)
  const deletedUntil = new Date(api.clock.now + LIFETIME_DAYS * DAY_MS).toISOString()
  assert.equal(before.restorable, true)
  assert.deepEqual(await client.delete(slug), { slug, deleted: true, deletedUntil })
  return { ...account, slug, first, live, draft, bytes, before }
}

describe('a deleted site', () => {
  test('is in the trash of its owner for its lifetime, and in no other list', async () => {
    const { client, slug } = await deletedSite()
    const [deletedAt, deletedUntil] = [0, LIFETIME_DAYS * DAY_MS].map((more) =>
      new Date(api.clock.now + more).toISOString(),
    )
    const { publishes } = await client.list({ deleted: true })
    assert.deepEqual(
      publishes.map((site) => [site.slug, site.title, site.role, site.deletedAt, site.deletedUntil]),
      [[slug, 'Bakery', 'owner', deletedAt, deletedUntil]],
    )
    assert.deepEqual((await client.list()).publishes, [])
    assert.deepEqual((await (await api.account()).client.list({ deleted: true })).publishes, [])
  })

  test('is announced to its owner as often as emails are sent, and not when it was restored', async () => {
    const { client, slug, email } = await deletedSite()
    const { read } = (await api.operator()).store
    const { id } = (await read.accounts.byEmail(email))!
    const count = () => read.notices.count(id, 'site-deleted', 0)
    for (let number = 0; number < 6; number++) {
      api.pass()
      await client.undelete(slug)
      await client.delete(slug)
    }
    assert.equal(await count(), 1)
    for (let number = 0; number < 5; number++)
      await client.delete((await api.publish(client, { 'index.html': `${number}` })).slug)
    assert.equal(await count(), 5)
    api.pass(HOUR_MS)
    await client.undelete(slug)
    await client.delete(slug)
    assert.equal(await count(), 5)
  })

  test('can be restored with its name, versions, settings and collaborators until that time ends', async () => {
    const { client, slug, before, first, live, draft, bytes } = await deletedSite()
    for (const { siteUrl, previewUrl } of [live, draft])
      for (const url of [siteUrl, previewUrl]) assert.equal((await api.visit(url)).status, 404)
    api.pass(LIFETIME_DAYS * DAY_MS - 1)
    for (const job of ['trash', 'old-versions', 'abandoned', 'visits', 'visit-counts', 'unnamed', 'blobs'])
      await api.sweep(job)

    const restored = await client.undelete(slug)

    assert.deepEqual(restored, { ...before, updatedAt: new Date(api.clock.now).toISOString() })
    assert.equal((await api.visit(live.siteUrl)).status, 401)
    const { versions } = await client.versions(slug)
    const ids = [draft, live, first].map(({ versionId }) => versionId)
    assert.deepEqual(pluck(versions, 'versionId'), ids)
    await client.setMetadata(slug, { password: null })
    await client.restore(slug, first.versionId)
    assert.ok((await api.visit(live.siteUrl)).text.endsWith(bytes))
    assert.equal((await client.collaborators(slug)).collaborators.length, 1)
    assert.deepEqual((await client.list({ deleted: true })).publishes, [])
    const { versionId, unchanged } = await client.undelete(slug)
    assert.deepEqual([versionId, unchanged], [first.versionId, true], 'a repetition changes nothing')
  })

  test('is deleted permanently when its time in the trash has ended, with its blobs and not with its name', async () => {
    const { client, slug, bytes } = await deletedSite()
    api.pass(LIFETIME_DAYS * DAY_MS)
    const late = await expectFailure(client.undelete(slug), 'NOT_FOUND')
    assert.doesNotMatch(late.hint ?? '', /undelete/, 'the sweep may come later')
    assert.equal(await api.sweep('trash'), 1)
    assert.equal(await api.sweep('trash'), 0)
    api.pass(HOUR_MS)
    await api.sweep('blobs')
    assert.equal(await readBlob(await api.operator(), sha256(bytes)), undefined)
    assert.deepEqual((await client.list({ deleted: true })).publishes, [])
    const { hint } = await expectFailure(client.undelete(slug), 'NOT_FOUND')
    assert.doesNotMatch(hint ?? '', /undelete/)
    const { store } = await api.operator()
    assert.equal((await store.read.sites.find(slug))?.deletionReason, 'deleted')
  })

  test('is answered with a hint to restore it, for its owner only', async () => {
    const { client, slug } = await deletedSite()
    const stranger = await api.account()
    const colleague = await api.account('colleague@example.com')
    const hintFor = async ({ client }: { client: typeof stranger.client }) =>
      (await expectFailure(client.details(slug), 'NOT_FOUND')).hint
    assert.equal(await hintFor({ client }), `Restore the site with POST /api/v1/publish/${slug}/undelete.`)
    const unknown = await hintFor(stranger)
    assert.doesNotMatch(unknown ?? '', /undelete/)
    assert.equal(await hintFor(colleague), unknown)
    for (const other of [stranger, colleague]) {
      await expectFailure(other.client.undelete(slug), 'NOT_FOUND')
      await expectFailure(other.client.delete(slug, { permanent: true }), 'NOT_FOUND')
    }
  })

  test('can be deleted permanently from the trash, and immediately', async () => {
    const { client, slug } = await deletedSite()
    assert.equal((await client.delete(slug, { permanent: true })).deletedUntil, null)
    const { slug: other } = await api.publish(client, { 'index.html': 'x' })
    await client.delete(other, { permanent: true })
    for (const gone of [slug, other]) {
      await expectFailure(client.undelete(gone), 'NOT_FOUND')
      await expectFailure(client.delete(gone, { permanent: true }), 'NOT_FOUND')
    }
    assert.deepEqual((await client.list({ deleted: true })).publishes, [])
  })

  test('is not kept when it was never finalized, nor beyond its expiry', async () => {
    const { client } = await api.account()
    const { slug } = await api.create(client, { 'index.html': 'x' })
    assert.deepEqual(pluck((await client.list()).publishes, 'restorable'), [false])
    assert.equal((await client.delete(slug)).deletedUntil, null)
    assert.deepEqual((await client.list({ deleted: true })).publishes, [])
    const brief = await api.publish(client, { 'index.html': 'x' }, { ttlSeconds: 3600 })
    const { expiresAt } = await client.details(brief.slug)
    await client.delete(brief.slug)
    const { publishes } = await client.list({ deleted: true })
    assert.equal(publishes[0]!.deletedUntil, expiresAt)
    api.pass(HOUR_MS)
    await expectFailure(client.undelete(brief.slug), 'SITE_EXPIRED')
  })

  test('has no uploads in progress, which no longer count and do not return with it', async () => {
    const { client } = await api.account()
    const { slug } = await api.publish(client, { 'index.html': 'live' })
    const heldBytes = async () => (await client.me()).usage.heldBytes
    const before = await heldBytes()
    await client.update(slug, { files: toManifest({ 'index.html': 'never uploaded' }) })
    assert.notEqual(await heldBytes(), before)
    await client.delete(slug)
    assert.equal(await heldBytes(), before)
    assert.equal((await client.undelete(slug)).pendingVersionId, null)
  })

  test('is kept when only drafts or previews of it were finalized, which return with it', async () => {
    const { client } = await api.account()
    for (const kind of [{ live: false }, { preview: 'pr-1' }]) {
      const { slug, previewUrl } = await api.publish(client, { 'index.html': 'waits for its review' }, kind)
      const [site] = (await client.list()).publishes
      assert.deepEqual([site!.slug, site!.restorable], [slug, true])
      assert.notEqual((await client.delete(slug)).deletedUntil, null)
      assert.equal((await api.visit(previewUrl)).status, 404)
      await client.undelete(slug)
      assert.equal((await api.visit(previewUrl)).text, 'waits for its review')
      await client.delete(slug)
    }
  })

  test('leaves its domains free, gets them back pending with the same records, and is no site in use', async () => {
    const { client } = await api.account()
    const { slug } = await api.publish(client, { 'index.html': 'x' })
    const other = await api.publish(client, { 'index.html': 'other' })
    const records = async (domain: string) =>
      (await client.domains()).domains.find((record) => record.domain === domain)?.records
    await client.addDomain('www.trash-test.example.com', slug)
    const before = await records('www.trash-test.example.com')
    await client.delete(slug)
    assert.deepEqual((await client.domains()).domains, [])
    const { usage } = await client.me()
    assert.deepEqual([usage.sites, usage.totalBytes], [1, 'other'.length])
    await client.undelete(slug)
    const [domain] = (await client.domains()).domains
    assert.deepEqual([domain!.siteSlug, domain!.status], [slug, 'pending'])
    assert.deepEqual(pluck(domain!.records, 'value'), pluck(before!, 'value'))
    // The free plan has one domain: another one takes its place.
    await client.delete(slug)
    await client.addDomain('www.other-test.example.com', other.slug)
    await client.undelete(slug)
    assert.deepEqual(pluck((await client.domains()).domains, 'domain'), ['www.other-test.example.com'])
  })

  test('has no domain that was added to another site since, and redirects none to it', async () => {
    const { client, email } = await api.account()
    const { store } = await api.operator()
    const { id } = (await store.read.accounts.byEmail(email))!
    await store.write('durable', {}, (tx) => tx.accounts.update(id, { plan: 'hobby' }))
    const { slug } = await api.publish(client, { 'index.html': 'x' })
    const other = await api.publish(client, { 'index.html': 'other' })
    for (const domain of ['moved-test.com', 'www.moved-test.com']) await client.addDomain(domain, slug)
    await client.delete(slug)
    await client.addDomain('moved-test.com', other.slug)
    await client.undelete(slug)
    const { domains } = await client.domains()
    assert.deepEqual(
      new Map(domains.map((one) => [one.domain, [one.siteSlug, one.redirectsTo]])),
      new Map([
        ['moved-test.com', [other.slug, null]],
        ['www.moved-test.com', [slug, null]],
      ]),
    )
  })
})

test('the trash is listed in pages, the last deleted site first', async () => {
  const { client } = await api.account()
  const slugs: string[] = []
  for (const text of ['one', 'two', 'three'])
    slugs.push((await api.publish(client, { 'index.html': text })).slug)
  const deleted = [slugs[1]!, slugs[2]!, slugs[0]!]
  for (const slug of deleted) {
    api.pass()
    await client.delete(slug)
  }
  const page = await client.list({ deleted: true, limit: 2 })
  const rest = await client.list({ deleted: true, limit: 2, cursor: page.nextCursor! })
  const listed = [...page.publishes, ...rest.publishes].map(({ slug }) => slug)
  assert.deepEqual(listed, deleted.toReversed())
  assert.equal(rest.nextCursor, null)
})

test('SLIPWAY_TRASH_LIFETIME=0 deletes sites permanently and immediately', async () => {
  await using immediate = await Api.start({ TRASH_LIFETIME: '0' })
  const { client } = await immediate.account()
  const { slug } = await immediate.publish(client, { 'index.html': 'x' })
  assert.equal((await client.details(slug)).restorable, false)
  assert.equal((await client.delete(slug)).deletedUntil, null)
  await expectFailure(client.undelete(slug), 'NOT_FOUND')
})
