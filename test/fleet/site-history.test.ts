import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, mock, test } from 'node:test'
import { SiteHistory } from './site-history.ts'

const site = () => new SiteHistory({ slug: 'bakery', claimToken: undefined, expiresAt: undefined })

/** Changes that end immediately; a content of which the outcome is not known is negative. */
async function change(history: SiteHistory, ...contents: (number | undefined)[]): Promise<number> {
  for (const content of contents) {
    const isUnknown = (content ?? 0) < 0
    const work = isUnknown ? () => Promise.reject(new Error('no response')) : async () => undefined
    await history.change(content && Math.abs(content), work).catch(() => undefined)
  }
  return performance.now()
}

describe('the checker of the fleet reports', () => {
  let now: number
  beforeEach(() => {
    now = 0
    // Each change ends later than it began.
    mock.method(performance, 'now', () => ++now)
  })
  afterEach(() => mock.restoreAll())

  test('no age of the newest content, and that of a replaced one since its replacement', async () => {
    const history = site()
    const changed = await change(history, 1, 2)
    assert.equal(history.age(2, changed + 5000, changed + 5001), 0)
    assert.equal(history.age(1, changed + 5000, changed + 5001), 5001, 'its replacement ended one before')
  })

  test('an infinite age of a content that was never published, and of nothing where there is a site', async () => {
    const history = site()
    const changed = await change(history, 1)
    for (const content of [2, undefined])
      assert.equal(history.age(content, changed, changed + 1), Number.POSITIVE_INFINITY)
  })

  test('that a deleted site is still served, and nothing else after it', async () => {
    const history = site()
    const changed = await change(history, 1, undefined)
    assert.equal(history.age(undefined, changed, changed + 1), 0)
    assert.ok(history.age(1, changed + 5000, changed + 5001) >= 5000)
  })

  test('neither outcome of a change that was not acknowledged', async () => {
    const history = site()
    const changed = await change(history, 1, -2)
    for (const content of [1, 2]) assert.equal(history.age(content, changed + 5000, changed + 5001), 0)
  })

  test('a restored content as right again', async () => {
    const history = site()
    const changed = await change(history, 1, 2, 1)
    assert.equal(history.age(1, changed + 5000, changed + 5001), 0)
    assert.ok(history.age(2, changed + 5000, changed + 5001) >= 5000)
  })

  test('a site that is served after its expiry, and nothing else before it', async () => {
    const history = site()
    history.expiresAt = performance.timeOrigin + now + 3000
    const changed = await change(history, 1)
    assert.equal(history.age(undefined, changed, changed + 1), Number.POSITIVE_INFINITY)
    assert.equal(history.age(undefined, changed + 4000, changed + 4001), 0)
    assert.ok(history.age(1, changed + 5000, changed + 5001) > 1800)
  })
})
