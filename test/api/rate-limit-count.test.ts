import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { Api, expectFailure, HOUR_MS } from './api.ts'
import { toEntry } from './content.ts'
import { exhaust, newAddress, nextHour, publishFrom, RATES, readRemaining } from './counted-requests.ts'

let api: Api
before(async () => {
  api = await Api.start({ ...RATES, TRUSTED_PROXIES: '1' })
})
after(() => api[Symbol.asyncDispose]())
beforeEach(() => nextHour(api))

describe('the rate limit', () => {
  test('counts over all processes of a machine, and survives a restart', async () => {
    const DATA = await mkdtemp(join(tmpdir(), 'slipway-two-'))
    try {
      const settings = { ...RATES, TRUSTED_PROXIES: '1', DATA }
      const address = '203.0.113.77'
      {
        await using one = await Api.start(settings)
        await using other = await Api.start(settings)
        for (const [at, service] of [one, other, one, other].entries()) {
          const answer = await publishFrom(service, address)
          assert.equal(readRemaining(answer), 4 - at)
        }
      }
      await using later = await Api.start(settings)
      assert.equal((await publishFrom(later, address)).status, 201)
      assert.equal((await publishFrom(later, address)).status, 429)
    } finally {
      await rm(DATA, { recursive: true })
    }
  })

  test('deletes the counts of past hours', async () => {
    const address = newAddress()
    await exhaust(api, address)
    api.pass(3 * HOUR_MS)
    await api.sweep('sign-ins')
    const operator = await api.operator()
    const window = Math.floor((api.clock.now - 3 * HOUR_MS) / HOUR_MS) * HOUR_MS
    assert.equal(await operator.store.read.counters.value(`address:${address}`, window), 0)
  })
})

test('reports to the SDK how long to wait', async () => {
  const { client } = await api.account()
  const files = [toEntry('a.txt', 'a')]
  const failures = Array.from({ length: 61 }, () => client.create({ files }))
  const outcomes = await Promise.allSettled(failures)
  const rejected = outcomes.filter(({ status }) => status === 'rejected')
  assert.equal(rejected.length, 1)
  const error = await expectFailure(client.create({ files }), 'RATE_LIMITED')
  assert.equal(error.retryAfterSeconds, 45 * 60)
})
