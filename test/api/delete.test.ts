import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Account, Api, expectFailure, HOUR_MS, toTarget } from './api.ts'
import { sha256, toManifest } from './content.ts'

let api: Api
let owner: Account
let stranger: Account
before(async () => {
  api = await Api.start()
  owner = await api.account()
  stranger = await api.account()
})
after(() => api[Symbol.asyncDispose]())

describe('a deleted site', () => {
  test('is gone at once, for visitors and for everyone else, and its slug is never used again', async () => {
    const { slug, siteUrl, previewUrl, versionId } = await api.publish(owner.client, { 'index.html': 'here' })
    const pending = await api.update(owner.client, slug, { 'index.html': 'more' })
    assert.equal((await api.visit(siteUrl)).status, 200)
    const { status, json } = await api.ask('DELETE', `/api/v1/publish/${slug}`, { key: owner.key })
    assert.equal(status, 200)
    assert.deepEqual(json, { slug, deleted: true })
    for (const url of [siteUrl, previewUrl]) assert.equal((await api.visit(url)).status, 404)

    const files = toManifest({ 'index.html': 'again' })
    const calls: [string, string, unknown?][] = [
      ['GET', slug],
      ['DELETE', slug],
      ['PUT', slug, { files }],
      ['PATCH', `${slug}/metadata`, { title: 'x' }],
      ['POST', `${slug}/duplicate`],
      ['POST', `${slug}/finalize`, { versionId: pending.upload.versionId }],
      ['POST', `${slug}/finalize`, { versionId }],
      ['POST', `${slug}/uploads/refresh`, { versionId: pending.upload.versionId }],
      ['POST', `${slug}/claim`, { claimToken: 'x' }],
      ['POST', `${slug}/claim/preview`, { claimToken: 'x' }],
      ['GET', `${slug}/versions`],
      ['POST', `${slug}/versions/${versionId}/restore`],
      ['DELETE', `${slug}/versions/${versionId}`],
      ['GET', `${slug}/files/index.html`],
      ['GET', `${slug}/archive`],
    ]
    for (const [method, path, body] of calls) {
      const answer = await api.ask(method, `/api/v1/publish/${path}`, { key: owner.key, json: body })
      assert.equal(answer.status, 404, `${method} ${path}`)
      assert.equal(answer.json.code, 'NOT_FOUND')
    }
    const [target] = pending.upload.uploads
    const late = await api.ask('PUT', toTarget(target!.url), { body: 'more', headers: target!.headers })
    assert.equal(late.json.code, 'UPLOAD_EXPIRED')
  })

  test('takes its domains along', async () => {
    const { client } = await api.account()
    const { slug } = await api.publish(client, { 'index.html': 'x' })
    await client.addDomain('www.delete-test.example.com', slug)
    await client.delete(slug)
    assert.deepEqual((await client.domains()).domains, [])
    const other = await api.publish(client, { 'index.html': 'x' })
    await client.addDomain('www.delete-test.example.com', other.slug)
  })

  test('leaves no bytes that nobody else has, and takes none that others have', async () => {
    const [mine, shared] = [`only here ${sha256('a')}`, `here and there ${sha256('b')}`]
    const { slug } = await api.publish(owner.client, { 'mine.txt': mine, 'shared.txt': shared })
    const other = await api.publish(stranger.client, { 'shared.txt': shared, 'index.html': 'x' })
    await owner.client.delete(slug)
    api.pass(HOUR_MS)
    await api.sweep('blobs')
    const house = await api.inside()
    assert.equal(await house.blobs.bytes(sha256(mine)), undefined)
    assert.equal((await api.visit(other.siteUrl, '/shared.txt')).text, shared)
  })

  test('is not counted among what an account has', async () => {
    const { client } = await api.account()
    const { slug } = await api.publish(client, { 'index.html': 'x' })
    await client.delete(slug)
    const { usage } = await client.me()
    assert.equal(usage.sites, 0)
    assert.equal(usage.totalBytes, 0)
  })

  test('does not come back when it is deleted while it is published', async () => {
    const contents = { 'index.html': 'x' }
    const { slug, siteUrl, upload } = await api.create(owner.client, contents)
    await api.upload(upload, contents)
    await Promise.allSettled([
      owner.client.finalize(slug, upload),
      owner.client.delete(slug),
      owner.client.finalize(slug, upload),
    ])
    assert.equal((await api.visit(siteUrl)).status, 404)
    await expectFailure(owner.client.details(slug), 'NOT_FOUND')
  })
})
