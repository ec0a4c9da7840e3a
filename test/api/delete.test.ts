import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Account, Api, expectFailure, HOUR_MS, toTarget } from './api.ts'
import { sha256, toManifest } from './content.ts'

let api: Api
let owner: Account
let otherAccount: Account
before(async () => {
  api = await Api.start()
  owner = await api.account()
  otherAccount = await api.account()
})
after(() => api[Symbol.asyncDispose]())

describe('a deleted site', () => {
  test('is not found from that moment on, for visitors and in the API, and its slug is never used again', async () => {
    const { slug, siteUrl, previewUrl, versionId } = await api.publish(owner.client, { 'index.html': 'here' })
    const pending = await api.update(owner.client, slug, { 'index.html': 'more' })
    assert.equal((await api.visit(siteUrl)).status, 200)
    const { status, json } = await api.request('DELETE', `/api/v1/publish/${slug}`, { key: owner.key })
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
      const answer = await api.request(method, `/api/v1/publish/${path}`, { key: owner.key, json: body })
      assert.equal(answer.status, 404, `${method} ${path}`)
      assert.equal(answer.json.code, 'NOT_FOUND')
    }
    const [target] = pending.upload.uploads
    const late = await api.request('PUT', toTarget(target!.url), { body: 'more', headers: target!.headers })
    assert.equal(late.json.code, 'UPLOAD_EXPIRED')
  })

  test('deletes its domains', async () => {
    const { client } = await api.account()
    const { slug } = await api.publish(client, { 'index.html': 'x' })
    await client.addDomain('www.delete-test.example.com', slug)
    await client.delete(slug)
    assert.deepEqual((await client.domains()).domains, [])
    const other = await api.publish(client, { 'index.html': 'x' })
    await client.addDomain('www.delete-test.example.com', other.slug)
  })

  test('deletes blobs without other references, and no others', async () => {
    const [mine, shared] = [`only here ${sha256('a')}`, `here and there ${sha256('b')}`]
    const { slug } = await api.publish(owner.client, { 'mine.txt': mine, 'shared.txt': shared })
    const other = await api.publish(otherAccount.client, { 'shared.txt': shared, 'index.html': 'x' })
    await owner.client.delete(slug)
    api.pass(HOUR_MS)
    await api.sweep('blobs')
    const operator = await api.operator()
    assert.equal(await operator.blobs.bytes(sha256(mine)), undefined)
    assert.equal((await api.visit(other.siteUrl, '/shared.txt')).text, shared)
  })

  test('does not count towards the usage of its account', async () => {
    const { client } = await api.account()
    const { slug } = await api.publish(client, { 'index.html': 'x' })
    await client.delete(slug)
    const { usage } = await client.me()
    assert.equal(usage.sites, 0)
    assert.equal(usage.totalBytes, 0)
  })

  test('stays deleted when it is deleted during a publish', async () => {
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
