import { parseArgs } from 'node:util'
import { whatIsMissing } from '../../scripts/test-dependencies.mjs'
import { anySeed, Random } from '../support/random.ts'
import type { Restart } from './kill-run.ts'
import { runKills } from './kills.ts'
import { CONTROLS, cutPower, MANY_FACTS } from './power-cuts.ts'

// `npm run faults -- [--cuts N] [--kills N] [--seed N]`: the long runs of test/power-cut.test.ts and test/kill.test.ts.
// Cuts need root and the Debian packages in scripts/test-dependencies.mjs. Exits with 1 when acknowledged data was lost or a
// control was not detected.

/** Maximum client steps before a kill. */
const MAX_STEPS = 600

/** Cuts within which a control must be detected. */
const CONTROL_CUTS = 10

const { values } = parseArgs({
  options: {
    cuts: { type: 'string', default: '50' },
    kills: { type: 'string', default: '300' },
    seed: { type: 'string', default: String(anySeed()) },
  },
})
const seed = Number(values.seed)
const summary: string[] = [`seed ${seed}`]
const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort(new Error(name)))

const missing = Number(values.cuts) > 0 ? whatIsMissing('power-cut') : undefined
if (missing) {
  console.error(`npm run faults ${missing}\nWithout cuts of power: npm run faults -- --cuts 0`)
  process.exit(2)
}
await runCuts(Number(values.cuts))
await reportKills(Number(values.kills))
console.log(`\n${summary.join('\n')}`)

/** Runs half of the cuts with one worker and half with two, then the controls. */
async function runCuts(count: number): Promise<void> {
  if (count === 0) return
  for (const workers of [1, 2]) {
    const share = workers === 1 ? Math.ceil(count / 2) : Math.floor(count / 2)
    const options = { cuts: share, workers, seed: seed + workers, signal: stop.signal, report: console.log }
    const { lost, cuts, acknowledged } = await cutPower(options)
    conclude(
      lost === 0,
      `power cuts, ${workers} workers: ${lost} of ${cuts} lost some of ${acknowledged} facts`,
    )
  }
  for (const control of CONTROLS) {
    const options = {
      cuts: CONTROL_CUTS,
      control,
      facts: MANY_FACTS,
      seed,
      signal: stop.signal,
      report: console.log,
    }
    const { lost, cuts } = await cutPower(options)
    conclude(
      lost > 0,
      `power cuts of a server that ${control}: ${lost > 0 ? `detected at cut ${cuts}` : 'NOT detected'}`,
    )
  }
}

async function reportKills(count: number): Promise<void> {
  if (count === 0) return
  const targets = [
    { workers: 1, victim: 'service' },
    { workers: 2, victim: 'service' },
    { workers: 2, victim: 'worker' },
  ] as const
  const options = {
    kills: count,
    targets,
    maxSteps: MAX_STEPS,
    random: new Random(seed),
    signal: stop.signal,
    report: console.log,
  }
  const { faults, acknowledged, reads, restarts } = await runKills(options)
  console.log(faults.join('\n'))
  conclude(
    faults.length === 0,
    `kills: ${count}, after which ${faults.length} faults in ${acknowledged} facts and ${reads} reads`,
  )
  for (const workers of [1, 2])
    summary.push(`restart with ${workers} workers: ${formatTimes(restarts, workers)}`)
}

function conclude(passed: boolean, sentence: string): void {
  summary.push(sentence)
  if (!passed) process.exitCode = 1
}

function formatTimes(restarts: Restart[], workers: number): string {
  const sorted = restarts
    .filter((one) => one.workers === workers)
    .map(({ milliseconds }) => Math.round(milliseconds))
    .sort((one, other) => one - other)
  return `median ${sorted[Math.floor(sorted.length / 2)]} ms, worst ${sorted.at(-1)} ms, of ${sorted.length}`
}
