import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../server/lib/time.ts'
import { formatNodes } from '../../server/operations/fleet/node-list.ts'

test('the list of nodes shows how long each has run, how far behind it is, and its numbers', () => {
  const now = 10 * DAY_MS
  const node = { id: 'x', release: '1.2.3', seenAt: now - 4000 }
  const lines = formatNodes(
    [
      {
        ...node,
        host: 'web-1:8080',
        startedAt: now - 3 * DAY_MS,
        numbers: { 'store.feed.lag_ms': 250, 's3.put.ok': 7, 's3.retries': 0 },
      },
      { ...node, host: 'web-2:8080', startedAt: now - HOUR_MS, seenAt: now - 2 * MINUTE_MS, numbers: {} },
    ],
    now,
  )
  assert.deepEqual(lines, [
    'NODE        RELEASE  RUNS FOR    LAST REPORT          BEHIND',
    'web-1:8080  1.2.3    2 d         4 s ago              0.3 s',
    '  store.feed.lag_ms 250',
    '  s3.put.ok 7',
    'web-2:8080  1.2.3    58 min      2 min ago (silent)   -',
  ])
})
