import { parseArgs } from 'node:util'
import { whatIsMissing } from '../../scripts/test-dependencies.mjs'
import { anySeed } from '../support/random.ts'
import { runRollingRestart } from './rolling.ts'
import { runFleet } from './run.ts'
import { runTestsOnFleet, runTestsRepeatingWrites } from './run-tests.ts'

// `npm run fleet -- [--minutes N] [--seed N]`: the long run of test/fleet.test.ts.
// `npm run fleet -- rolling [--visits N]`: restarts and upgrades all nodes one by one under load.
// Both exit with 1 when a promise was broken.
// `npm run fleet -- tests [part of a test file's path …]`: the tests of the API, the edge, domains, visits and
// certificates on PostgreSQL and S3. `npm run fleet -- repeated-writes …`: the tests of the API with each write executed
// twice. Both exit with 1 when a test failed.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '10' },
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
const [command, ...parts] = positionals
if (command === 'tests') process.exit((await runTestsOnFleet(parts)) ? 0 : 1)
if (command === 'repeated-writes') process.exit((await runTestsRepeatingWrites(parts)) ? 0 : 1)
const seed = Number(values.seed)
console.log(`seed ${seed}`)
const options = { seed, nodes: 4, storage: 's3', visitors: 8, log: console.log } as const
const report = await (command === 'rolling'
  ? runRollingRestart({ ...options, visits: Number(values.visits) })
  : runFleet({ ...options, seconds: Number(values.minutes) * 60, publishers: 4, pauseMs: 4000 }))
console.log(`\nseed ${seed}\n${report.lines.join('\n')}\n`)
console.log(
  report.violations.length === 0 ? 'no promise was broken' : `BROKEN:\n${report.violations.join('\n')}`,
)
process.exitCode = report.violations.length === 0 ? 0 : 1
