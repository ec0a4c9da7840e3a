import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runKills } from '../fleet/kills.ts'
import { anySeed } from '../support/random.ts'
import { sharedCeph } from '../tools/ceph.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres } from '../tools/postgres.ts'

// `npm run fleet -- kills` kills at all events, and runs the control.

test(
  'a node that is killed in an update leaves it finished or absent on others, and it can be repeated',
  requires('postgres', 'ceph'),
  async (t) => {
    const seed = anySeed()
    t.diagnostic(`SEED=${seed}`)
    const servers = { postgres: await sharedPostgres(), ceph: await sharedCeph() }
    const log = (line: string) => t.diagnostic(line)
    const report = await runKills({ ...servers, seed, kills: 1, kinds: ['update'], log })
    assert.deepEqual(report.violations, [])
  },
)
