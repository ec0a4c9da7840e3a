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

  test('has the Open Graph image instead as long as it is set', async () => {
    const { slug, versionId } = await api.publish(owner.client, withIcon, { ogImagePath: 'photo.jpg' })
    const host = `${versionId}--${slug}`
    assert.deepEqual(await findPreview(slug), { kind: 'page', host, path: '/photo.jpg' })
    await owner.client.setMetadata(slug, { ogImagePath: null })
    assert.deepEqual(await findPreview(slug), { kind: 'page', host, path: '/favicon.svg' })
    await owner.client.setMetadata(slug, { ogImagePath: 'photo.jpg' })
    await api.publish(owner.client, { 'index.html': 'no images' }, { slug })
    assert.deepEqual(await findPreview(slug), { kind: 'page' })
  })

  test('has no image of a site with a password, which browsers could not load', async () => {
    const { slug } = await api.publish(owner.client, withIcon, { ogImagePath: 'photo.jpg' })
    await owner.client.setMetadata(slug, { password: 'open sesame' })
    assert.deepEqual(await findPreview(slug), { kind: 'page' })
    assert.equal((await listed(slug)).hasPassword, true)
    await owner.client.setMetadata(slug, { password: null })
    assert.equal((await findPreview(slug)).path, '/photo.jpg')
  })

  test('follows the live version', async () => {
    const { slug, versionId } = await api.publish(owner.client, { 'my cat é.jpg': 'jpg' })
    const cat = { kind: 'image', host: `${versionId}--${slug}`, path: '/my%20cat%20%C3%A9.jpg' }
    assert.deepEqual(await findPreview(slug), cat)
    await api.publish(owner.client, withIcon, { slug, live: false })
    assert.deepEqual(await findPreview(slug), cat, 'a draft changes nothing')
    await api.publish(owner.client, { 'film.mp4': 'mp4' }, { slug })
    assert.deepEqual(await findPreview(slug), { kind: 'video' })
    await owner.client.restore(slug, versionId)
    assert.deepEqual(await findPreview(slug), cat)
  })

  test('has no preview of a site that was never live', async () => {
    const { slug } = await api.create(owner.client, withIcon)
    assert.deepEqual(await findPreview(slug), { kind: null })
  })

  test('has the same preview for a duplicate, at its own address', async () => {
    const { slug } = await api.publish(owner.client, withIcon)
    const copy = await owner.client.duplicate(slug)
    const host = `${copy.versionId}--${copy.slug}`
    assert.deepEqual(await findPreview(copy.slug), { kind: 'page', host, path: '/favicon.svg' })
  })

  test('has only the Open Graph image of versions from before previews were stored', async () => {
    const { slug, versionId } = await api.publish(owner.client, withIcon)
    const { store } = await api.operator()
    await store.write('durable', (tx) => tx.versions.update(versionId, { preview: null }))
    assert.deepEqual(await findPreview(slug), { kind: null })
    await owner.client.setMetadata(slug, { ogImagePath: 'photo.jpg' })
    assert.equal((await findPreview(slug)).path, '/photo.jpg')
  })
})
