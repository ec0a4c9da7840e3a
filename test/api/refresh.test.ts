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

describe('fresh upload addresses', () => {
  test('are for what is still missing, and for nothing else', async () => {
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

  test('name what was skipped, as the first ones did', async () => {
    const { slug } = await api.publish(owner.client, contents)
    const { upload } = await api.update(owner.client, slug, { ...contents, 'a.txt': 'new' })
    const fresh = await owner.client.refresh(slug, upload)
    assert.deepEqual(fresh.upload.skipped, upload.skipped)
    assert.equal(upload.skipped.length, 2)
  })

  test('work when the first ones are over, for another hour', async () => {
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

  test('leave the first ones as they are', async () => {
    const { slug, upload } = await api.create(owner.client, contents)
    await owner.client.refresh(slug, upload)
    await api.upload(upload, contents)
    await owner.client.finalize(slug, upload)
  })

  test('are not given for a version that is finalized, deleted, of another site or unknown', async () => {
    const { slug, versionId } = await api.publish(owner.client, contents)
    await expectFailure(owner.client.refresh(slug, { versionId }), 'UPLOAD_EXPIRED')
    const other = await api.create(owner.client, contents)
    await expectFailure(owner.client.refresh(slug, other.upload), 'NOT_FOUND')
    await expectFailure(owner.client.refresh(slug, { versionId: 'x' }), 'NOT_FOUND')
    await owner.client.deleteVersion(other.slug, other.upload.versionId)
    await expectFailure(owner.client.refresh(other.slug, other.upload), 'NOT_FOUND')
  })

  test('are given to the owner of an owned site only', async () => {
    const { slug, upload } = await api.create(owner.client, contents)
    const stranger = await api.account()
    await expectFailure(stranger.client.refresh(slug, upload), 'NOT_FOUND')
    await expectFailure(api.anonymous.refresh(slug, upload), 'UNAUTHORIZED')
    await expectFailure(api.anonymous.refresh(slug, { ...upload, claimToken: 'x' }), 'UNAUTHORIZED')
  })

  test('are given for the claim token of an anonymous site only', async () => {
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
    test(`cannot be asked for with ${JSON.stringify(json)}`, async () => {
      const { slug } = await api.create(owner.client, contents)
      const answer = await api.ask('POST', `/api/v1/publish/${slug}/uploads/refresh`, {
        key: owner.key,
        json,
      })
      assert.equal(answer.status, 400)
      assert.equal(answer.json.details[0].field, field)
    })
  }
})
