import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { SiteDetails, SiteSummary } from '../../protocol/api/sites.schema.ts'
import { siteRow } from '../store/rows.ts'
import { pluck } from '../support/pluck.ts'
import { expectFailure, startApi, toTarget } from './api.ts'
import { toManifest } from './content.ts'
import { insertSites } from './stored-sites.ts'

const api = await startApi()
const owner = await api.account()

describe('the details of a site', () => {
  test('have all fields of the spec, with every file and its hash', async () => {
    const contents = { 'index.html': 'home', 'card.png': 'png', 'data.json': '{}' }
    const createdAt = api.clock.now + 1
    const metadata = { title: 'T', description: 'D', ogImagePath: 'card.png', spaMode: true }
    const { slug, siteUrl, versionId } = await api.publish(owner.client, contents, metadata)
    api.pass(5000)
    await owner.client.setMetadata(slug, { password: 'open sesame' })
    assert.deepEqual(await owner.client.details(slug), {
      slug,
      siteUrl,
      status: 'active',
      versionId,
      currentVersionId: versionId,
      pendingVersionId: null,
      ...metadata,
      viewer: { title: 'T', description: 'D', ogImagePath: 'card.png' },
      iconUrl: null,
      thumbnailUrl: null,
      role: 'owner',
      requireApproval: 'off',
      hasPassword: true,
      restorable: true,
      createdAt: new Date(createdAt).toISOString(),
      updatedAt: new Date(api.clock.now).toISOString(),
      expiresAt: null,
      files: toManifest(contents),
    })
  })

  test('include the pending version, whose details they are before the site is finalized', async () => {
    const ids = ({ status, versionId, currentVersionId, pendingVersionId }: SiteDetails) =>
      [status, versionId, currentVersionId, pendingVersionId] as const
    const { slug, upload } = await api.create(owner.client, { 'index.html': 'home' })
    const details = await owner.client.details(slug)
    assert.deepEqual(ids(details), ['pending', upload.versionId, null, upload.versionId])
    assert.deepEqual(details.files, toManifest({ 'index.html': 'home' }))
    const live = await api.publish(owner.client, { 'index.html': 'one' })
    const { versionId: pending } = (await api.update(owner.client, live.slug, { 'a.txt': 'two' })).upload
    const later = await owner.client.details(live.slug)
    assert.deepEqual(ids(later), ['active', live.versionId, live.versionId, pending])
    assert.deepEqual(pluck(later.files, 'path'), ['index.html'])
  })
})

describe('the list of sites', () => {
  test('returns sites page by page, newest first, each once', async () => {
    const account = await api.account()
    const { client } = account
    assert.deepEqual(await client.list(), { publishes: [], nextCursor: null })
    const slugs = await insertSites(api, account, 100, 'paged')
    const first = await client.list()
    const second = await client.list({ cursor: first.nextCursor! })
    assert.deepEqual([first.publishes.length, second.publishes.length, second.nextCursor], [50, 50, null])
    const listed = [...first.publishes, ...second.publishes]
    assert.deepEqual(pluck(listed, 'slug').toSorted(), slugs.toSorted())
    const times = listed.map(({ createdAt }) => Date.parse(createdAt))
    const sorted = times.toSorted((one, other) => other - one)
    assert.deepEqual(times, sorted)
    assert.deepEqual(pluck(await Array.fromAsync(client.sites()), 'slug'), pluck(listed, 'slug'))
    assert.equal((await client.list({ limit: 100 })).publishes.length, 100)
    const one = await client.list({ limit: 1 })
    const next = await client.list({ limit: 2, cursor: one.nextCursor! })
    assert.deepEqual(pluck([...one.publishes, ...next.publishes], 'slug'), pluck(listed.slice(0, 3), 'slug'))
  })

  test('continues at its cursor, even if sites are added and deleted in between', async () => {
    const { client } = await api.account()
    const slugs = []
    for (let number = 0; number < 6; number++)
      slugs.unshift((await api.create(client, { 'a.txt': 'a' })).slug)
    const first = await client.list({ limit: 2 })
    await client.delete(slugs[1]!)
    await api.create(client, { 'a.txt': 'a' })
    const { publishes, nextCursor } = await client.list({ limit: 10, cursor: first.nextCursor! })
    assert.deepEqual(pluck(publishes, 'slug'), slugs.slice(2))
    assert.equal(nextCursor, null)
  })

  for (const limit of ['1e400', '-1e400', 'Infinity', '101', '0', '1.5', ''])
    test(`is refused with the limit '${limit}'`, async () => {
      const { key } = await api.account()
      const { status, json } = await api.request('GET', `/api/v1/publishes?limit=${limit}`, { key })
      assert.deepEqual([status, json.details?.[0]?.field], [400, 'limit'])
    })

  test('has no sites that are deleted, expired or of other accounts', async () => {
    const [one, other] = [await api.account(), await api.account()]
    const kept = await api.publish(one.client, { 'index.html': 'kept' })
    const short = await api.publish(one.client, { 'index.html': 'short' }, { ttlSeconds: 60 })
    const deleted = await api.publish(one.client, { 'index.html': 'deleted' })
    await api.publish(other.client, { 'index.html': 'theirs' })
    await one.client.delete(deleted.slug)
    api.pass(60_000)
    await api.sweep('expired-sites')
    const { publishes } = await one.client.list()
    assert.deepEqual(pluck(publishes, 'slug'), [kept.slug])
    await expectFailure(one.client.details(short.slug), 'SITE_EXPIRED')
  })

  test('is searched by words of the title and the slug, over all pages, whatever the characters', async () => {
    const account = await api.account()
    const other = await api.publish(owner.client, { 'index.html': 'rye' })
    await owner.client.setMetadata(other.slug, { title: 'Rye of another account' })
    const { client } = account
    const slugs: Record<string, string> = {}
    for (const title of ['100% Rye', 'Rye_bread', 'Bäckerei Süd', 'Back']) {
      const { slug } = await api.publish(client, { 'index.html': title })
      await client.setMetadata(slug, { title })
      slugs[title] = slug
    }
    const find = async (q: string) => (await client.list({ q })).publishes.map(({ title }) => title)
    assert.deepEqual(await find('rye'), ['Rye_bread', '100% Rye'])
    assert.deepEqual(await find(' RYE  100% '), ['100% Rye'])
    assert.deepEqual(await find('e_b'), ['Rye_bread'])
    for (const q of ['b_ck', 'b%k', 'b\\ck']) assert.deepEqual(await find(q), [], q)
    assert.deepEqual(await find('bäckerei'), ['Bäckerei Süd'])
    await client.setMetadata(slugs.Back!, { title: 'Ärzte' })
    for (const q of ['Ärzte', 'ärz']) assert.deepEqual(await find(q), ['Ärzte'])
    await client.setMetadata(slugs.Back!, { title: 'Back' })
    assert.deepEqual(await find(slugs.Back!.slice(0, 9).toUpperCase()), ['Back'])
    assert.deepEqual(await find("' or 1=1 --"), [])
    // A search reads 200 sites at a time.
    const { store } = await api.operator()
    const { id } = (await store.read.accounts.byEmail(account.email))!
    await store.write('durable', {}, async (tx) => {
      for (let number = 0; number < 450; number++)
        await tx.sites.insert(siteRow(`search-${number}`, { ownerId: id, createdAt: api.clock.now + number }))
    })
    assert.deepEqual(await find('bread'), ['Rye_bread'])
    const first = await client.list({ q: 'rye', limit: 1 })
    const second = await client.list({ q: 'rye', limit: 1, cursor: first.nextCursor! })
    assert.deepEqual([second.publishes[0]!.title, second.nextCursor], ['100% Rye', null])
  })
})

describe('a duplicate', () => {
  test('is live immediately, with the live files and the metadata of the site', async () => {
    const contents = { 'index.html': 'home', 'card.png': 'png', 'a/b.txt': 'b' }
    const metadata = { title: 'T', description: 'D', ogImagePath: 'card.png', spaMode: true }
    const source = await api.publish(owner.client, contents, metadata)
    await api.publish(owner.client, { 'index.html': 'draft' }, { slug: source.slug, live: false })
    await api.update(owner.client, source.slug, { 'index.html': 'pending' })
    api.pass(5000)
    const { status, json } = await owner.request('POST', `/api/v1/publish/${source.slug}/duplicate`)
    assert.equal(status, 201)
    const { slug, siteUrl, versionId } = json
    assert.equal(json.copiedFrom, source.slug)
    for (const [path, content] of Object.entries(contents)) {
      const { text } = await api.visit(siteUrl, `/${path}`)
      assert.ok(path === 'index.html' ? text.endsWith(content) : text === content, text)
    }
    const now = new Date(api.clock.now).toISOString()
    assert.deepEqual(await owner.client.details(slug), {
      ...(await owner.client.details(source.slug)),
      slug,
      siteUrl,
      versionId,
      currentVersionId: versionId,
      pendingVersionId: null,
      createdAt: now,
      updatedAt: now,
    })
    assert.equal((await owner.client.versions(slug)).versions.length, 1)
  })

  test('has no password, no domain, no expiry and no rule or revoked link of reviews', async () => {
    const { client } = await api.account()
    const { slug, siteUrl } = await api.publish(client, { 'index.html': 'secret' }, { ttlSeconds: 3600 })
    await client.setMetadata(slug, { password: 'open sesame', requireApproval: 'anyone' })
    const { store } = await api.operator()
    await store.write('durable', {}, (tx) => tx.sites.update(slug, { reviewKey: 'of a revoked link' }))
    await client.addDomain('www.duplicate-test.example.com', slug)
    const copy = await client.duplicate(slug)
    const details = await client.details(copy.slug)
    assert.equal(details.hasPassword, false)
    assert.equal(details.expiresAt, null)
    assert.equal(details.requireApproval, 'off')
    assert.equal((await store.read.sites.find(copy.slug))?.reviewKey, null)
    assert.equal((await api.visit(copy.siteUrl)).text, 'secret')
    assert.equal((await api.visit(siteUrl)).status, 401)
    assert.deepEqual(pluck((await client.domains()).domains, 'siteSlug'), [slug])
  })
})

describe('a deleted site', () => {
  test('is not found by visitors from that moment on, and accepts no uploads', async () => {
    const { slug, siteUrl, previewUrl } = await api.publish(owner.client, { 'index.html': 'here' })
    const pending = await api.update(owner.client, slug, { 'index.html': 'more' })
    assert.equal((await api.visit(siteUrl)).status, 200)
    const { status, json } = await owner.request('DELETE', `/api/v1/publish/${slug}`)
    assert.equal(status, 200)
    assert.deepEqual(json, { slug, deleted: true, deletedUntil: json.deletedUntil })
    for (const url of [siteUrl, previewUrl]) assert.equal((await api.visit(url)).status, 404)
    const [target] = pending.upload.uploads
    const late = await api.request('PUT', toTarget(target!.url), { body: 'more', headers: target!.headers })
    assert.equal(late.json.code, 'UPLOAD_EXPIRED')
  })
})

const listed = async (slug: string): Promise<SiteSummary> => {
  const { publishes } = await owner.client.list()
  return publishes.find((site) => site.slug === slug)!
}

/** The preview of a site in the list: its kind, and the host and path of its image. */
async function findPreview(slug: string): Promise<{ kind: string | null; host?: string; path?: string }> {
  const { kind, imageUrl } = await listed(slug)
  if (imageUrl === null) return { kind }
  const { host, pathname: path } = new URL(imageUrl)
  return { kind, host: host.split('.')[0]!, path }
}

const withIcon = { 'index.html': 'x', 'favicon.svg': '<svg/>', 'photo.jpg': 'jpg' }

describe('the list of sites', () => {
  test('has the icon of each site, at a public URL of the live version', async () => {
    const { slug, versionId } = await api.publish(owner.client, withIcon)
    const { kind, imageUrl, hasPassword } = await listed(slug)
    assert.deepEqual([kind, hasPassword], ['page', false])
    assert.equal(new URL(imageUrl!).host.split('.')[0], `${versionId}--${slug}`)
    const answer = await api.visit(imageUrl!, new URL(imageUrl!).pathname)
    assert.equal(answer.text, '<svg/>')
    assert.match(answer.headers['content-type']!, /^image\/svg/)
  })

  test('has no image of a site with a password, which browsers could not load', async () => {
    const { slug } = await api.publish(owner.client, withIcon, { ogImagePath: 'photo.jpg' })
    await owner.client.setMetadata(slug, { password: 'open sesame' })
    assert.deepEqual(await findPreview(slug), { kind: 'page' })
    assert.equal((await listed(slug)).hasPassword, true)
    await owner.client.setMetadata(slug, { password: null })
    assert.equal((await findPreview(slug)).path, '/photo.jpg')
  })

  test('follows the live version, and has none before it', async () => {
    const created = await api.create(owner.client, withIcon)
    assert.deepEqual(await findPreview(created.slug), { kind: null })
    const { slug, versionId } = await api.publish(owner.client, { 'my cat é.jpg': 'jpg' })
    const cat = { kind: 'image', host: `${versionId}--${slug}`, path: '/my%20cat%20%C3%A9.jpg' }
    assert.deepEqual(await findPreview(slug), cat)
    const copy = await owner.client.duplicate(slug)
    assert.deepEqual(await findPreview(copy.slug), { ...cat, host: `${copy.versionId}--${copy.slug}` })
    await api.publish(owner.client, withIcon, { slug, live: false })
    assert.deepEqual(await findPreview(slug), cat, 'a draft changes nothing')
    await api.publish(owner.client, { 'film.mp4': 'mp4' }, { slug })
    assert.deepEqual(await findPreview(slug), { kind: 'video' })
    await owner.client.restore(slug, versionId)
    assert.deepEqual(await findPreview(slug), cat)
  })
})
