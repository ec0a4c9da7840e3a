import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Account, Api, expectFailure, HOUR_MS } from './api.ts'

let api: Api
let owner: Account
before(async () => {
  api = await Api.start()
  owner = await api.account()
})
after(() => api[Symbol.asyncDispose]())

const contents = { 'index.html': 'home', 'a.txt': 'a', 'b.txt': 'b' }

describe('refreshed upload URLs', () => {
  test('cover exactly the missing files', async () => {
    const { slug, upload } = await api.create(owner.client, contents)
    await api.anonymous.upload(upload.uploads[1]!, Buffer.from('a'))
    const fresh = await owner.client.refresh(slug, upload)
    assert.deepEqual(
      fresh.upload.uploads.map(({ path }) => path),
      ['index.html', 'b.txt'],
    )
    assert.equal(fresh.upload.versionId, upload.versionId)
    assert.equal(fresh.upload.finalizeUrl, upload.finalizeUrl)
    assert.equal(fresh.upload.expiresInSeconds, 3600)
    await api.upload(fresh.upload, contents)
    assert.deepEqual((await owner.client.refresh(slug, upload)).upload.uploads, [])
    await owner.client.finalize(slug, upload)
  })

  test('list skipped files, as the first ones did', async () => {
    const { slug } = await api.publish(owner.client, contents)
    const { upload } = await api.update(owner.client, slug, { ...contents, 'a.txt': 'new' })
    const fresh = await owner.client.refresh(slug, upload)
    assert.deepEqual(fresh.upload.skipped, upload.skipped)
    assert.equal(upload.skipped.length, 2)
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

  test('do not invalidate the first ones', async () => {
    const { slug, upload } = await api.create(owner.client, contents)
    await owner.client.refresh(slug, upload)
    await api.upload(upload, contents)
    await owner.client.finalize(slug, upload)
  })

  test('are refused for a version that is finalized, deleted, of another site or unknown', async () => {
    const { slug, versionId } = await api.publish(owner.client, contents)
    await expectFailure(owner.client.refresh(slug, { versionId }), 'UPLOAD_EXPIRED')
    const other = await api.create(owner.client, contents)
    await expectFailure(owner.client.refresh(slug, other.upload), 'NOT_FOUND')
    await expectFailure(owner.client.refresh(slug, { versionId: 'x' }), 'NOT_FOUND')
    await owner.client.deleteVersion(other.slug, other.upload.versionId)
    await expectFailure(owner.client.refresh(other.slug, other.upload), 'NOT_FOUND')
  })

  test('require the owner of an owned site', async () => {
    const { slug, upload } = await api.create(owner.client, contents)
    const otherAccount = await api.account()
    await expectFailure(otherAccount.client.refresh(slug, upload), 'NOT_FOUND')
    await expectFailure(api.anonymous.refresh(slug, upload), 'UNAUTHORIZED')
    await expectFailure(api.anonymous.refresh(slug, { ...upload, claimToken: 'x' }), 'UNAUTHORIZED')
  })

  test('require the claim token of an anonymous site', async () => {
    const { slug, upload, claimToken } = await api.create(api.anonymous, contents)
    const { versionId } = upload
    await expectFailure(api.anonymous.refresh(slug, { versionId }), 'UNAUTHORIZED')
    await expectFailure(api.anonymous.refresh(slug, { versionId, claimToken: 'x' }), 'INVALID_CLAIM_TOKEN')
    const fresh = await api.anonymous.refresh(slug, { versionId, claimToken: claimToken! })
    assert.equal(fresh.upload.uploads.length, 3)
    assert.equal(JSON.stringify(fresh).includes(claimToken!), false)
  })

  const bodies: [unknown, string][] = [
    [{}, 'versionId'],
    [{ versionId: 7 }, 'versionId'],
    [{ versionId: 'x', claimToken: 7 }, 'claimToken'],
    [[], 'body'],
  ]
  for (const [json, field] of bodies) {
    test(`are refused for ${JSON.stringify(json)}`, async () => {
      const { slug } = await api.create(owner.client, contents)
      const answer = await api.request('POST', `/api/v1/publish/${slug}/uploads/refresh`, {
        key: owner.key,
        json,
      })
      assert.equal(answer.status, 400)
      assert.equal(answer.json.details[0].field, field)
    })
  }
})
