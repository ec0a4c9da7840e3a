import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Api, HOUR_MS } from './api.ts'
import { browser } from './browser.ts'

let api: Api
before(async () => {
  api = await Api.start({ RATE_FREE: '60', RATE_HOBBY: '200' })
})
after(() => api[Symbol.asyncDispose]())

describe('an account', () => {
  test('shows its plan, limits and usage', async () => {
    const { email, client } = await api.account()
    const { slug } = await api.publish(client, { 'index.html': 'twelve bytes' })
    const { usage, limits, createdAt, ...rest } = await client.me()
    assert.deepEqual(rest, { email, plan: 'free', hasKey: true })
    assert.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.equal(limits.domains, 1)
    assert.equal(limits.filesPerSite, 1000)
    assert.equal(limits.versionsKept, 10)
    assert.deepEqual([usage.sites, usage.totalBytes, usage.domains], [1, 12, 0])
    await api.setPlan(email, 'hobby')
    await client.addDomain('www.example.com', slug)
    const moved = await client.me()
    assert.equal(moved.plan, 'hobby')
    assert.deepEqual([moved.usage.domains, moved.limits.domains], [1, 5])
  })

  test('shows its requests in this hour, and when the limit resets', async () => {
    const { client } = await api.account()
    const start = Math.floor(api.clock.now / HOUR_MS) * HOUR_MS
    for (const used of [1, 2, 3]) {
      const { limits, usage } = await client.me()
      assert.deepEqual([limits.requestsPerHour, usage.requestsThisHour], [60, used])
      assert.equal(usage.resetsAt, new Date(start + HOUR_MS).toISOString())
    }
    api.pass(HOUR_MS)
    assert.equal((await client.me()).usage.requestsThisHour, 1)
  })

  test('shows whether it has a key, and never the key', async () => {
    const { headers } = await browser(api, { email: 'no-key-yet@example.com' })
    const me = () => api.request('GET', '/api/v1/me', { headers })
    assert.equal((await me()).json.hasKey, false)
    const { json } = await api.request('POST', '/api/v1/me/key', { headers })
    const after = await me()
    assert.equal(after.json.hasKey, true)
    assert.equal(after.text.includes(json.apiKey), false)
  })
})
