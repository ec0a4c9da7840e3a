import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatMetrics, Metrics } from '../../server/lib/metrics.ts'

test('the nodes of a fleet report each count with its sum, and each gauge with its present value', () => {
  const metrics = new Metrics()
  let waiting = 1
  metrics.addRead('slipway_store_pool_waiting', () => waiting)
  metrics.addRead('slipway_store_pool_waiting', () => 10)
  metrics.counter('slipway_s3_requests_total', { operation: 'put', outcome: 'ok' }).add()
  metrics.counter('slipway_s3_requests_total', { operation: 'put', outcome: 'ok' }).add(2)
  metrics.counter('slipway_s3_retries_total').add()
  metrics.counter('slipway_publishes_total', { outcome: 'live' }).add()
  waiting = 5
  assert.deepEqual(metrics.read(), {
    slipway_store_pool_waiting: 15,
    'slipway_s3_requests_total{operation="put",outcome="ok"}': 3,
    slipway_s3_retries_total: 1,
  })
})

test('an observation counts into the buckets whose bound it does not exceed', async () => {
  const metrics = new Metrics()
  const duration = metrics.histogram('slipway_http_request_duration_seconds', { side: 'api' })
  for (const seconds of [0, 0.001, 0.0011, 10, 11]) duration.observe(seconds)
  const samples = linesOf(formatMetrics([{ snapshot: await metrics.collect() }]), 'duration_seconds')
  const bucket = (bound: string) =>
    samples[`slipway_http_request_duration_seconds_bucket{side="api",le="${bound}"}`]
  assert.deepEqual(['0.001', '0.0025', '5', '10', '+Inf'].map(bucket), [2, 3, 3, 4, 5])
  assert.equal(samples['slipway_http_request_duration_seconds_count{side="api"}'], 5)
  assert.equal(samples['slipway_http_request_duration_seconds_sum{side="api"}'], 21.0021)
})

test('a database or a disk that hangs does not hold the metrics that show it', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const metrics = new Metrics()
  metrics.gauge('slipway_disk_free_bytes').set(7)
  metrics.addRefresh(() => new Promise(() => undefined))
  const collected = metrics.collect()
  context.mock.timers.tick(500)
  assert.deepEqual((await collected).slipway_disk_free_bytes, [['slipway_disk_free_bytes', '', 7]])
})

test('a value that is not known is no sample, and text in a label cannot begin another', async () => {
  const metrics = new Metrics()
  metrics.addRead('slipway_certificate_expiry_seconds', () => undefined, { source: 'file' })
  metrics.addRead('slipway_build_info', () => 1, { version: '1"} 2\n\\', node: '26' })
  metrics.addRefresh(() => Promise.reject(new Error('unreachable')))
  const text = formatMetrics([{ snapshot: await metrics.collect() }])
  assert.deepEqual(Object.keys(linesOf(text, '_expiry_')), [])
  assert.match(text, /^slipway_build_info\{version="1\\"\} 2\\n\\\\",node="26"\} 1$/m)
})

/** The samples whose names contain a part. */
function linesOf(text: string, part: string): Record<string, number> {
  const lines = text.split('\n').filter((line) => !line.startsWith('#') && line.includes(part))
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
  )
}
