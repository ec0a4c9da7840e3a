import { parseArgs } from 'node:util'
import { whatIsMissing } from '../../scripts/test-dependencies.mjs'
import { anySeed } from '../support/random.ts'
import { startCeph } from '../tools/ceph.ts'
import { startPostgres } from '../tools/postgres.ts'
import { runKills } from './kills.ts'
import type { Report } from './report.ts'
import { runRollingRestart } from './rolling.ts'
import { runFleet } from './run.ts'

// `npm run fleet -- [--minutes N] [--seed N]`: the long run of test/fleet.test.ts.
// `npm run fleet -- rolling [--visits N]`: restarts and upgrades all nodes one by one under load.
// `npm run fleet -- kills [--kills N]`: kills a node at all events of a publish, or at N random ones of each kind.
// They exit with 1 when a promise was broken.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '10' },
    kills: { type: 'string' },
    visits: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(anySeed()) },
  },
})

const missing = (['postgres', 'haproxy', 'smtp', 'ceph'] as const)
  .map(whatIsMissing)
  .find((sentence) => sentence)
if (missing) {
  console.error(`npm run fleet ${missing}`)
  process.exit(2)
}
const seed = Number(values.seed)
console.log(`seed ${seed}`)
const log = console.log
const options = { seed, nodes: 4, storage: 's3', visitors: 8, log } as const
const runs: Record<string, () => Promise<Report>> = {
  faults: () => runFleet({ ...options, publishers: 4, pauseMs: 4000, seconds: Number(values.minutes) * 60 }),
  rolling: () => runRollingRestart({ ...options, visits: Number(values.visits) }),
  kills: async () => {
    await using ceph = await startCeph()
    await using postgres = await startPostgres()
    return runKills({ ceph, postgres, seed, log, ...(values.kills && { kills: Number(values.kills) }) })
  },
}
const run = runs[positionals[0] ?? 'faults']
if (!run) {
  console.error(`npm run fleet has these runs: ${Object.keys(runs).join(', ')}`)
  process.exit(2)
}
const report = await run()
console.log(`\nseed ${seed}\n${report.lines.join('\n')}\n`)
console.log(
  report.violations.length === 0 ? 'no promise was broken' : `BROKEN:\n${report.violations.join('\n')}`,
)
process.exitCode = report.violations.length === 0 ? 0 : 1
