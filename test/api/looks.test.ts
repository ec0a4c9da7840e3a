import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { SiteSummary } from '../../protocol/api/sites.ts'
import { type Account, Api } from './api.ts'

let api: Api
let owner: Account
before(async () => {
  api = await Api.start()
  owner = await api.account()
})
after(() => api[Symbol.asyncDispose]())

const listed = async (slug: string): Promise<SiteSummary> => {
  const { publishes } = await owner.client.list()
  return publishes.find((site) => site.slug === slug)!
}

/** What the list says of a site: its kind, and which path of which host shows it. */
async function lookOf(slug: string): Promise<{ kind: string | null; host?: string; path?: string }> {
  const { kind, imageUrl } = await listed(slug)
  if (imageUrl === null) return { kind }
  const { host, pathname: path } = new URL(imageUrl)
  return { kind, host: host.split('.')[0]!, path }
}

const withIcon = { 'index.html': 'x', 'favicon.svg': '<svg/>', 'photo.jpg': 'jpg' }

describe('the list of sites', () => {
  test('shows each by its icon, at the address of the live version, where anybody gets it', async () => {
    const { slug, versionId } = await api.publish(owner.client, withIcon)
    const { kind, imageUrl, hasPassword } = await listed(slug)
    assert.deepEqual([kind, hasPassword], ['page', false])
    assert.equal(new URL(imageUrl!).host.split('.')[0], `${versionId}--${slug}`)
    const answer = await api.visit(imageUrl!, new URL(imageUrl!).pathname)
    assert.equal(answer.text, '<svg/>')
    assert.match(answer.headers['content-type']!, /^image\/svg/)
  })

  test('shows the Open Graph image rather, from when it is set until it is gone', async () => {
    const { slug, versionId } = await api.publish(owner.client, withIcon, { ogImagePath: 'photo.jpg' })
    const host = `${versionId}--${slug}`
    assert.deepEqual(await lookOf(slug), { kind: 'page', host, path: '/photo.jpg' })
    await owner.client.setMetadata(slug, { ogImagePath: null })
    assert.deepEqual(await lookOf(slug), { kind: 'page', host, path: '/favicon.svg' })
    await owner.client.setMetadata(slug, { ogImagePath: 'photo.jpg' })
    await api.publish(owner.client, { 'index.html': 'no images' }, { slug })
    assert.deepEqual(await lookOf(slug), { kind: 'page' })
  })

  test('shows no picture of a site with a password, since no browser would get it', async () => {
    const { slug } = await api.publish(owner.client, withIcon, { ogImagePath: 'photo.jpg' })
    await owner.client.setMetadata(slug, { password: 'open sesame' })
    assert.deepEqual(await lookOf(slug), { kind: 'page' })
    assert.equal((await listed(slug)).hasPassword, true)
    await owner.client.setMetadata(slug, { password: null })
    assert.equal((await lookOf(slug)).path, '/photo.jpg')
  })

  test('goes with the version that is live', async () => {
    const { slug, versionId } = await api.publish(owner.client, { 'my cat é.jpg': 'jpg' })
    const cat = { kind: 'image', host: `${versionId}--${slug}`, path: '/my%20cat%20%C3%A9.jpg' }
    assert.deepEqual(await lookOf(slug), cat)
    await api.publish(owner.client, withIcon, { slug, live: false })
    assert.deepEqual(await lookOf(slug), cat, 'a draft changes nothing')
    await api.publish(owner.client, { 'film.mp4': 'mp4' }, { slug })
    assert.deepEqual(await lookOf(slug), { kind: 'video' })
    await owner.client.restore(slug, versionId)
    assert.deepEqual(await lookOf(slug), cat)
  })

  test('knows nothing of a site that was never live', async () => {
    const { slug } = await api.create(owner.client, withIcon)
    assert.deepEqual(await lookOf(slug), { kind: null })
  })

  test('shows a copy as its source, at its own address', async () => {
    const { slug } = await api.publish(owner.client, withIcon)
    const copy = await owner.client.duplicate(slug)
    const host = `${copy.versionId}--${copy.slug}`
    assert.deepEqual(await lookOf(copy.slug), { kind: 'page', host, path: '/favicon.svg' })
  })

  test('shows versions from before there were looks by their Open Graph image alone', async () => {
    const { slug, versionId } = await api.publish(owner.client, withIcon)
    const { store } = await api.inside()
    await store.write('durable', (tx) => tx.versions.update(versionId, { preview: null }))
    assert.deepEqual(await lookOf(slug), { kind: null })
    await owner.client.setMetadata(slug, { ogImagePath: 'photo.jpg' })
    assert.equal((await lookOf(slug)).path, '/photo.jpg')
  })
})
