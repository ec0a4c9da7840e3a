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

test('small DATA frames use up the flood budget in proportion to their missing bytes, but not the last one of a body', () => {
  const sent = (bytes: number, isLast: boolean) => {
    let isExhausted = false
    const budget = new FloodGuard({ clock: () => 0, onExhausted: () => (isExhausted = true) })
    let count = 0
    while (!isExhausted && ++count < 10_000) budget.dataReceived(bytes, isLast)
    return count
  }
  assert.deepEqual(
    [sent(0, false), sent(32, false), sent(64, false), sent(0, true)],
    [1001, 2002, 10_000, 10_000],
  )
})
