import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { CreateResponse } from '../../protocol/api/publish.ts'
import { Api } from './api.ts'
import type { ApiResponse } from './api-response.ts'
import { exhaust, newAddress, nextHour, publishFrom, RATES, readRemaining } from './counted-requests.ts'

// One finalize of a version runs at a time, and only one that completes a publish is free (contract, "Rates").

let api: Api
before(async () => {
  api = await Api.start({ ...RATES, TRUSTED_PROXIES: '1' })
})
after(() => api[Symbol.asyncDispose]())
beforeEach(() => nextHour(api))

/** Creates a site from an address, with one file to upload. */
async function created(address: string) {
  const answer = (await publishFrom(api, address)).json as CreateResponse
  const { slug, siteUrl, upload } = answer
  const finalize = (body: object = {}, from = address): Promise<ApiResponse> =>
    api.request('POST', `/api/v1/publish/${slug}/finalize`, {
      headers: { 'x-forwarded-for': from },
      json: { versionId: upload.versionId, ...body },
    })
  const put = () => api.anonymous.upload(upload.uploads[0]!, Buffer.from('hello'))
  return { siteUrl, finalize, put, claimToken: answer.claimToken! }
}

describe('concurrent finalizes of one version', () => {
  test('run once: one of them is free, the others get its response and are charged', async () => {
    const address = newAddress()
    const { finalize, put } = await created(address)
    await put()
    const answers = await Promise.all(Array.from({ length: 32 }, () => finalize()))
    const done = answers.filter(({ status }) => status === 200)
    assert.equal(done.length, 5, 'one that is free, and four that the hour still had')
    assert.equal(done.filter(({ json }) => json.replayed !== true).length, 1)
    assert.equal(answers.filter(({ json }) => json.code === 'RATE_LIMITED').length, 27)
  })

  test('with different parameters run one after another', async () => {
    const { siteUrl, finalize, put, claimToken } = await created(newAddress())
    await put()
    const [draft, live] = await Promise.all([
      finalize({ live: false }),
      finalize({ claimToken }, newAddress()),
    ])
    assert.deepEqual([draft!.status, live!.status], [200, 200])
    assert.equal((await api.visit(siteUrl)).text, 'hello')
  })
})

describe('a finalize that changes nothing is charged', () => {
  test('when it repeats a successful one', async () => {
    const { finalize, put } = await created(newAddress())
    await put()
    assert.equal(readRemaining(await finalize()), 4)
    for (const remaining of [3, 2, 1, 0]) assert.equal(readRemaining(await finalize()), remaining)
    assert.equal((await finalize()).status, 429)
  })

  test('when files are missing, from the second time on, and is limited', async () => {
    const { finalize, put } = await created(newAddress())
    for (const remaining of [4, 3, 2, 1, 0]) {
      const answer = await finalize()
      assert.equal(answer.json.code, 'UPLOADS_MISSING')
      assert.equal(readRemaining(answer), remaining)
    }
    for (let round = 0; round < 3; round++) assert.equal((await finalize()).json.code, 'RATE_LIMITED')
    await put()
    nextHour(api)
    assert.equal((await finalize()).status, 200)
  })

  test('but one that completes the publish is free, also after one that was too early', async () => {
    const address = newAddress()
    const { siteUrl, finalize, put } = await created(address)
    assert.equal((await finalize()).json.code, 'UPLOADS_MISSING')
    await put()
    const answer = await finalize()
    assert.deepEqual([answer.status, readRemaining(answer)], [200, 4])
    assert.equal((await api.visit(siteUrl)).text, 'hello')
  })

  test('when its body is invalid, also for a pending version', async () => {
    const { finalize } = await created(newAddress())
    for (const remaining of [3, 2, 1, 0]) {
      const answer = await finalize({ live: 'no' })
      assert.deepEqual([answer.status, readRemaining(answer)], [400, remaining])
    }
    assert.equal((await finalize({ live: 'no' })).status, 429)
  })

  test('when another address sends it, without using up the limit of the publisher', async () => {
    const { client, key } = await api.account()
    const { slug, upload } = await client.create({
      files: [{ path: 'a', size: 5, contentType: 'text/plain' }],
    })
    const otherAddress = newAddress()
    await exhaust(api, newAddress())
    const finalize = (more: object) =>
      api.request('POST', `/api/v1/publish/${slug}/finalize`, {
        json: { versionId: upload.versionId },
        ...more,
      })
    for (const remaining of [4, 3, 2, 1, 0]) {
      const answer = await finalize({ headers: { 'x-forwarded-for': otherAddress } })
      assert.deepEqual([answer.status, readRemaining(answer)], [401, remaining])
    }
    assert.equal((await finalize({ headers: { 'x-forwarded-for': otherAddress } })).status, 429)
    const before = readRemaining(await api.request('GET', '/api/v1/me', { key }))
    await client.upload(upload.uploads[0]!, Buffer.from('hello'))
    const answer = await finalize({ key })
    assert.deepEqual([answer.status, readRemaining(answer)], [200, before])
  })
})
