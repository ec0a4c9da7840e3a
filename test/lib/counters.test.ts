import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Counters } from '../../server/lib/counters.ts'

test('an operator sees each count with its sum, and each gauge with its present value, by name', () => {
  const counters = new Counters()
  let open = 1
  counters.addGauge('store.pool.open', () => open)
  counters.addGauge('store.pool.open', () => 10)
  counters.add('s3.put.ok')
  counters.add('s3.put.ok', 2)
  counters.add('edge.stale')
  open = 5
  assert.deepEqual(Object.entries(counters.read()), [
    ['edge.stale', 1],
    ['s3.put.ok', 3],
    ['store.pool.open', 15],
  ])
})
