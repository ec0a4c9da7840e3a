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
        numbers: {
          slipway_store_feed_lag_seconds: 0.25,
          slipway_s3_read_bytes_total: 7,
          slipway_s3_retries_total: 0,
        },
      },
      { ...node, host: 'web-2:8080', startedAt: now - HOUR_MS, seenAt: now - 2 * MINUTE_MS, numbers: {} },
    ],
    now,
  )
  assert.deepEqual(lines, [
    'NODE        RELEASE  RUNS FOR    LAST REPORT          BEHIND',
    'web-1:8080  1.2.3    2 d         4 s ago              0.3 s',
    '  slipway_store_feed_lag_seconds 0.25',
    '  slipway_s3_read_bytes_total 7',
    'web-2:8080  1.2.3    58 min      2 min ago (silent)   -',
  ])
})
