import { parseArgs } from 'node:util'
import { whatIsMissing } from '../../scripts/test-dependencies.mjs'
import { runInterleavings } from '../interleaving/run.ts'
import { anySeed } from '../support/random.ts'
import { type CephClient, sharedCeph } from '../tools/ceph.ts'
import { exitOnSignals } from '../tools/exit.ts'
import { type PostgresClient, sharedPostgres } from '../tools/postgres.ts'
import { runCollection } from './collection.ts'
import { runKills, runKillsControl } from './kills.ts'
import { runMove } from './move.ts'
import { runOutages } from './outages.ts'
import type { Report } from './report.ts'
import { runRestarts } from './restart.ts'
import { runRollingRestart } from './rolling.ts'
import { runFleet } from './run.ts'
import { runTestsOnFleet, runTestsRepeatingWrites } from './run-tests.ts'
import { runStandby } from './standby.ts'

// `npm run fleet -- [--minutes N] [--seed N]`: a fleet through faults of all parts.
// `npm run fleet -- failovers [--times N]`: kills the primary and promotes its standby again and again.
// `npm run fleet -- outages [--seconds N]`: changes sites in all ways, then takes away the database or the bucket.
// `npm run fleet -- standby [--seconds N]`: 34 accounts publish while the standby is away, and another one reads.
// `npm run fleet -- rolling [--visits N]`: restarts and upgrades all nodes one by one under load.
// `npm run fleet -- restart [--visits N]`: restarts one machine with two workers, behind HAProxy and without it.
// `npm run fleet -- move [--sites N]`: moves a machine into a fleet and back.
// `npm run fleet -- kills [--kills N]`: kills a node at all events of a publish, or at N random ones of each kind.
// `npm run fleet -- collection [--steps N]`: publishes, deletes and collects on three nodes over S3.
// `npm run fleet -- interleavings [--pairs N]`: explores all pairs of concurrent calls, or N random ones.
// They exit with 1 when a promise was broken.
// `npm run fleet -- tests [part of a test file's path …]`: the tests of the API, the edge, domains, visits and
// certificates on PostgreSQL and S3.
// `npm run fleet -- repeated-writes [part …]`: the tests of the API with the work of each write executed twice.
// They exit with 1 when a test failed.

exitOnSignals()
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '60' },
    times: { type: 'string', default: '20' },
    sites: { type: 'string', default: '10000' },
    kills: { type: 'string' },
    pairs: { type: 'string' },
    steps: { type: 'string', default: '200000' },
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
const [command = 'faults', ...parts] = positionals
const testRuns: Record<string, (parts: readonly string[]) => Promise<boolean>> = {
  tests: runTestsOnFleet,
  'repeated-writes': runTestsRepeatingWrites,
}
const runTests = testRuns[command]
if (runTests) process.exit((await runTests(parts)) ? 0 : 1)
const seed = Number(values.seed)
console.log(`seed ${seed}`)
const log = console.log
const options = { seed, nodes: 4, storage: 's3', visitors: 8, log } as const
const load = { ...options, publishers: 4, pauseMs: 4000 } as const
const runs: Record<string, () => Promise<Report>> = {
  faults: () => runFleet({ ...load, seconds: Number(values.minutes) * 60 }),
  failovers: () => runFleet({ ...load, faults: 'failovers', rounds: Number(values.times) }),
  outages: () => runOutages({ seconds: Number(values.seconds), nodes: options.nodes, log }),
  standby: () => runStandby({ seconds: Number(values.seconds), nodes: options.nodes, log }),
  rolling: () => runRollingRestart({ ...options, visits: Number(values.visits) }),
  restart: () => runRestarts({ visits: Number(values.visits), log }),
  move: () => runMove({ sites: Number(values.sites), log }),
  kills: () =>
    withServers(async (servers) => {
      const kills = values.kills === undefined ? {} : { kills: Number(values.kills) }
      const report = await runKills({ ...servers, seed, log, ...kills })
      const control = await runKillsControl({ ...servers, log })
      report.violations.push(...control.violations)
      return report
    }),
  interleavings: () => runInterleavings({ seed, log, ...(values.pairs && { pairs: Number(values.pairs) }) }),
  collection: () =>
    withServers((servers) => runCollection({ ...servers, seed, log, steps: Number(values.steps) })),
}
const run = runs[command]
if (!run) {
  console.error(`npm run fleet has these runs: ${Object.keys({ ...runs, ...testRuns }).join(', ')}`)
  process.exit(2)
}
const report = await run()
console.log(`\nseed ${seed}\n${report.lines.join('\n')}\n`)
console.log(
  report.violations.length === 0 ? 'no promise was broken' : `BROKEN:\n${report.violations.join('\n')}`,
)
process.exitCode = report.violations.length === 0 ? 0 : 1

async function withServers(
  run: (servers: { ceph: CephClient; postgres: PostgresClient }) => Promise<Report>,
): Promise<Report> {
  return await run({ ceph: await sharedCeph(), postgres: await sharedPostgres() })
}
