import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { MetadataRequest } from '../../protocol/api/sites.ts'
import { type Account, Api, expectFailure, HOUR_MS } from './api.ts'

let api: Api
let owner: Account
before(async () => {
  api = await Api.start()
  owner = await api.account()
})
after(() => api[Symbol.asyncDispose]())

const contents = { 'index.html': 'home', 'card.png': 'png', 'other.svg': '<svg/>' }

const site = () =>
  api.publish(owner.client, contents, { title: 'T', description: 'D', ogImagePath: 'card.png' })

const patch = (slug: string, json: unknown) =>
  api.request('PATCH', `/api/v1/publish/${slug}/metadata`, { key: owner.key, json })

describe('a change of the metadata of a site', () => {
  const start = { title: 'T', description: 'D', ogImagePath: 'card.png', spaMode: false, hasPassword: false }
  const changes: [
    MetadataRequest & Record<string, unknown>,
    Partial<typeof start> | Record<string, unknown>,
  ][] = [
    [{}, {}],
    [{ title: 'New' }, { title: 'New' }],
    [{ title: null }, { title: null }],
    [{ description: 'New' }, { description: 'New' }],
    [{ description: null }, { description: null }],
    [{ ogImagePath: 'other.svg' }, { ogImagePath: 'other.svg' }],
    [{ ogImagePath: null }, { ogImagePath: null }],
    [{ spaMode: true }, { spaMode: true }],
    [{ password: 'open sesame' }, { hasPassword: true }],
    [{ password: null }, {}],
    [
      { title: 'A', description: null, spaMode: true },
      { title: 'A', description: null, spaMode: true },
    ],
    [{ slug: 'mine', status: 'gone', files: [], versionId: 'x', unknown: 1 }, {}],
  ]
  for (const [change, expected] of changes) {
    test(`sets given fields, clears null fields and keeps the others: ${JSON.stringify(change)}`, async () => {
      const { slug } = await site()
      const before = await owner.client.details(slug)
      api.pass(5000)
      const { status, json } = await patch(slug, change)
      assert.equal(status, 200)
      const updatedAt = new Date(api.clock.now).toISOString()
      assert.deepEqual(json, { ...before, ...start, ...expected, updatedAt })
      assert.deepEqual(await owner.client.details(slug), json)
    })
  }

  const wrong: [Record<string, unknown>, string[]][] = [
    [{ title: 't'.repeat(201) }, ['title']],
    [{ title: 5 }, ['title']],
    [{ description: 'd'.repeat(501) }, ['description']],
    [{ ogImagePath: 'nowhere.png' }, ['ogImagePath']],
    [{ ogImagePath: 'index.html' }, ['ogImagePath']],
    [{ ogImagePath: ['card.png'] }, ['ogImagePath']],
    [{ spaMode: 'yes' }, ['spaMode']],
    [{ password: '' }, ['password']],
    [{ password: 'p'.repeat(201) }, ['password']],
    [{ password: 5 }, ['password']],
    [{ ttlSeconds: 59 }, ['ttlSeconds']],
    [{ ttlSeconds: 31_536_001 }, ['ttlSeconds']],
    [{ ttlSeconds: 'soon' }, ['ttlSeconds']],
    [
      { title: 5, description: 5, password: '', ttlSeconds: 1 },
      ['description', 'password', 'title', 'ttlSeconds'],
    ],
  ]
  for (const [change, fields] of wrong) {
    test(`is refused as a whole for ${JSON.stringify(change).slice(0, 60)}`, async () => {
      const { slug } = await site()
      const before = await owner.client.details(slug)
      const { status, json } = await patch(slug, { spaMode: true, ...change })
      assert.equal(status, 400)
      assert.deepEqual(json.details.map(({ field }: { field: string }) => field).sort(), fields)
      assert.deepEqual(await owner.client.details(slug), before)
    })
  }

  for (const json of [[], null, 'title', 5]) {
    test(`is refused for a body of ${JSON.stringify(json)}`, async () => {
      const { slug } = await site()
      assert.equal((await patch(slug, json)).json.code, 'VALIDATION_ERROR')
    })
  }

  test('accepts texts up to their limits of characters, in every request', async () => {
    const { slug } = await site()
    const change = { title: '😀'.repeat(200), description: '日'.repeat(500), password: '😀'.repeat(200) }
    const details = await owner.client.setMetadata(slug, change)
    assert.equal(details.title, change.title)
    assert.equal(details.description, change.description)
  })

  test('is visible to visitors at once', async () => {
    const { slug, siteUrl } = await site()
    assert.equal(
      (await api.visit(siteUrl, '/deep/link', { 'sec-fetch-mode': 'navigate', accept: 'text/html' })).status,
      404,
    )
    await owner.client.setMetadata(slug, { title: 'New' })
    assert.equal((await api.visit(siteUrl)).status, 200)
    await owner.client.setMetadata(slug, { password: 'open sesame' })
    assert.equal((await api.visit(siteUrl)).status, 401)
    assert.equal((await api.visit(siteUrl, '/card.png')).status, 401)
    await owner.client.setMetadata(slug, { password: null })
    assert.match((await api.visit(siteUrl)).text, /<title>New<\/title>.*home$/s)
  })

  test('of a site that is not finalized is validated against the pending manifest', async () => {
    const { slug } = await api.create(owner.client, contents)
    await owner.client.setMetadata(slug, { ogImagePath: 'other.svg' })
    await expectFailure(owner.client.setMetadata(slug, { ogImagePath: 'nowhere.png' }), 'VALIDATION_ERROR')
  })

  test('is refused for other accounts', async () => {
    const { slug } = await site()
    await expectFailure(api.anonymous.setMetadata(slug, { title: 'x' }), 'UNAUTHORIZED')
    await expectFailure((await api.account()).client.setMetadata(slug, { title: 'x' }), 'NOT_FOUND')
    const anonymous = await api.publish(api.anonymous, contents)
    await expectFailure(owner.client.setMetadata(anonymous.slug, { title: 'x' }), 'NOT_FOUND')
  })
})

describe('an expiry that is set later', () => {
  test('counts from that moment, and can be changed and removed', async () => {
    const { slug, siteUrl } = await site()
    const end = (seconds: number) => new Date(api.clock.now + seconds * 1000).toISOString()
    api.pass(HOUR_MS)
    assert.equal((await owner.client.setMetadata(slug, { ttlSeconds: 60 })).expiresAt, end(60))
    api.pass(30_000)
    assert.equal((await owner.client.setMetadata(slug, { title: 'x' })).expiresAt, end(30))
    assert.equal((await owner.client.setMetadata(slug, { ttlSeconds: 90 })).expiresAt, end(90))
    api.pass(89_999)
    assert.equal((await api.visit(siteUrl)).status, 200)
    assert.equal((await owner.client.setMetadata(slug, { ttlSeconds: null })).expiresAt, null)
    api.pass(HOUR_MS)
    assert.equal((await api.visit(siteUrl)).status, 200)
  })

  test('cannot be changed once it has passed', async () => {
    const { slug, siteUrl } = await site()
    await owner.client.setMetadata(slug, { ttlSeconds: 60 })
    api.pass(60_000)
    await expectFailure(owner.client.setMetadata(slug, { ttlSeconds: null }), 'SITE_EXPIRED')
    assert.equal((await api.visit(siteUrl)).status, 410)
  })
})
