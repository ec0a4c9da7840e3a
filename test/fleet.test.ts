import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runFleet } from './fleet/run.ts'
import { anySeed } from './support/random.ts'
import { requires } from './tools/part.ts'

// The long run is `npm run fleet`.

test(
  'nodes lose nothing, serve nothing old and fail no visit of a warm site through a kill and a failover',
  requires('postgres', 'haproxy', 'smtp'),
  async (t) => {
    const seed = anySeed()
    t.diagnostic(`SEED=${seed}`)
    const options = {
      seed,
      rounds: 1,
      faults: 'shortest' as const,
      nodes: 2,
      storage: 'folder' as const,
      publishers: 1,
      visitors: 1,
      pauseMs: 500,
    }
    const report = await runFleet({ ...options, log: (line) => t.diagnostic(line) })
    for (const line of report.lines) t.diagnostic(line)
    assert.deepEqual(report.violations, [])
    for (const what of ['faults: killNode', 'faults: failOver', 'update: acknowledged'])
      assert.ok(report.counts.has(what), what)
  },
)
