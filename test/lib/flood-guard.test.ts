import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FloodGuard } from '../../server/net/http2/flood-guard.ts'

describe('the budget of cancelled requests of an HTTP/2 connection', () => {
  const guard = () => new FloodGuard({ clock: () => 0, onExhausted: () => assert.fail('exhausted') })

  test('gets back one for each completed response', () => {
    const budget = guard()
    for (let count = 0; count < 5000; count++) {
      budget.onReset()
      budget.onStreamDone()
      assert.equal(budget.refusesRequests, false, `after ${count}`)
    }
  })

  test('is used up by 1,000 without a response', () => {
    const budget = guard()
    for (let count = 0; count < 1000; count++) budget.onReset()
    assert.equal(budget.refusesRequests, false)
    budget.onReset()
    assert.equal(budget.refusesRequests, true)
  })
})
