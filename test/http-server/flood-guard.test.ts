import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FloodGuard } from '../../packages/http-server/http2/flood-guard.ts'

test('the budget of cancelled requests of an HTTP/2 connection gets back one for each completed response', () => {
  const budget = new FloodGuard({ clock: () => 0, onExhausted: () => assert.fail('exhausted') })
  for (let count = 0; count < 5000; count++) {
    budget.onReset()
    budget.onStreamDone()
    assert.equal(budget.refusesRequests, false, `after ${count}`)
  }
})
