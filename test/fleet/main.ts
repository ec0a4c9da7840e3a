import { parseArgs } from 'node:util'
import { whatIsMissing } from '../../scripts/test-dependencies.mjs'
import { anySeed } from '../support/random.ts'
import { runFleet } from './run.ts'

// `npm run fleet -- [--minutes N] [--seed N]`: the long run of test/fleet.test.ts. Exits with 1 when a promise was broken.

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(anySeed()) },
  },
})

const missing = (['postgres', 'haproxy', 'smtp'] as const).map(whatIsMissing).find((sentence) => sentence)
if (missing) {
  console.error(`npm run fleet ${missing}`)
  process.exit(2)
}
const seed = Number(values.seed)
console.log(`seed ${seed}`)
const report = await runFleet({
  seconds: Number(values.minutes) * 60,
  seed,
  nodes: 4,
  publishers: 4,
  visitors: 8,
  pauseMs: 4000,
  log: console.log,
})
console.log(`\nseed ${seed}\n${report.lines.join('\n')}\n`)
console.log(
  report.violations.length === 0 ? 'no promise was broken' : `BROKEN:\n${report.violations.join('\n')}`,
)
process.exitCode = report.violations.length === 0 ? 0 : 1
