import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Account, Api } from './api.ts'
import { browser } from './browser.ts'
import { RATES, readLimit, readRemaining } from './counted-requests.ts'

describe('the rate limit of browser sessions', () => {
  let api: Api
  let owner: Account
  before(async () => {
    api = await Api.start({ ...RATES, RATE_SESSION: '1000' })
    owner = await api.account()
  })
  after(() => api[Symbol.asyncDispose]())

  test('is 1,000 requests an hour beside the 60 of the API key, neither of which uses up the other', async () => {
    const { cookie } = await browser(api, owner)
    const me = (headers: Record<string, string>, key?: string) =>
      api.request('GET', '/api/v1/me', { headers, key })
    const first = await me({ cookie })
    assert.deepEqual([readLimit(first), readRemaining(first)], [1000, 999])
    let last = await me({}, owner.key)
    while (last.status === 200) last = await me({}, owner.key)
    assert.deepEqual([last.status, readLimit(last)], [429, 60])
    const second = await me({ cookie })
    assert.deepEqual([second.status, readRemaining(second)], [200, 998])
    assert.deepEqual([second.json.limits.requestsPerHour, second.json.usage.requestsThisHour], [60, 60])
  })
})
