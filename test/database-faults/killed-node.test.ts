import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { runKills } from '../fleet/kills.ts'
import { anySeed } from '../support/random.ts'
import { startCeph } from '../tools/ceph.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres } from '../tools/postgres.ts'

// `npm run fleet -- kills` kills at all events.

test(
  'a node that is killed in a publish leaves it finished or absent on others, and it can be repeated',
  requires('postgres', 'ceph'),
  async (t) => {
    const seed = anySeed()
    t.diagnostic(`SEED=${seed}`)
    await using ceph = await startCeph()
    const log = (line: string) => t.diagnostic(line)
    const servers = { postgres: await sharedPostgres(), ceph }
    const report = await runKills({ ...servers, seed, kills: 1, log })
    assert.deepEqual(report.violations, [])

    const modules = [join(import.meta.dirname, 'unsent-commits.ts')]
    const control = await runKills({ ...servers, seed, kills: 0, modules, maxRequests: 20 })
    assert.deepEqual(control.violations, [
      'publish: acknowledged, and lost',
      'update: acknowledged, and lost',
    ])
  },
)
