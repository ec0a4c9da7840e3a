import { parseArgs } from 'node:util'
import { whatIsMissing } from '../../scripts/test-dependencies.mjs'
import { anySeed } from '../support/random.ts'
import { exitOnSignals } from '../tools/exit.ts'
import type { RunOptions, RunResult } from './run.ts'

// `npm run models -- [--seed N] [--steps N] [--runs N] [--fleet] [--only N,N,…]`: random operations on two nodes,
// compared with a model; with `--fleet` over PostgreSQL and S3. Several runs have the seeds that follow. After a problem
// it leaves out steps as long as the problem stays, and prints the command that repeats the rest. Exits with 1 then.

/** Of the search for steps that a problem does not need. */
const MAX_RERUNS = 30

exitOnSignals()
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(anySeed()) },
    steps: { type: 'string', default: '1000' },
    runs: { type: 'string', default: '1' },
    fleet: { type: 'boolean', default: false },
    only: { type: 'string' },
  },
})
const missing = values.fleet && (whatIsMissing('postgres') ?? whatIsMissing('ceph'))
if (missing) {
  console.error(`npm run models -- --fleet ${missing}`)
  process.exit(2)
}
await using servers = new AsyncDisposableStack()
if (values.fleet) await startServers()
const { runModel } = await import('./run.ts')
const only = values.only?.split(',').map(Number)
for (let run = 0; run < Number(values.runs) && !process.exitCode; run++)
  await report({ seed: Number(values.seed) + run, steps: Number(values.steps), only })

/** Before the tests choose their engines. */
async function startServers(): Promise<void> {
  const { startPostgres } = await import('../tools/postgres.ts')
  const { startCeph } = await import('../tools/ceph.ts')
  const postgres = servers.use(await startPostgres())
  const ceph = servers.use(await startCeph())
  const [TEST_DATABASE_URL, TEST_BLOBS_URL] = [postgres.url(), ceph.storageUrl()]
  Object.assign(process.env, { TEST_ENGINES: 'fleet', TEST_DATABASE_URL, TEST_BLOBS_URL })
}

async function report(options: RunOptions): Promise<void> {
  console.log(commandOf(options))
  const result = await runModel(options)
  const counts = [...result.counts].sort(([one], [other]) => one.localeCompare(other))
  console.log(counts.map(([name, count]) => `${count} × ${name}`).join(', '))
  if (result.problem === undefined) return
  process.exitCode = 1
  console.log(`${result.history.slice(-12).join('\n')}\n${result.problem}\n`)
  const { history, problem, steps } = options.only ? result : await minimize(options, result)
  console.log(`${history.join('\n')}\n${problem}\n${commandOf({ ...options, only: steps })}`)
}

/** Leaves out steps, many and then few at a time, as long as the rest has a problem of the same kind. */
async function minimize(options: RunOptions, result: RunResult): Promise<RunResult> {
  let best = result
  let reruns = 0
  for (let size = Math.ceil(result.steps.length / 2); size >= 1; size = Math.floor(size / 2))
    for (let at = 0; at < best.steps.length && reruns++ < MAX_RERUNS; ) {
      const shorter = await runModel({ ...options, only: best.steps.toSpliced(at, size) })
      if (kindOf(shorter) === kindOf(result)) best = shorter
      else at += size
    }
  return best
}

/** The problem without names and numbers. */
function kindOf({ problem = '' }: RunResult): string {
  return problem
    .split('\n', 1)[0]!
    .replace(/\S*[\d-]\S*/g, '')
    .slice(0, 60)
}

function commandOf({ seed, steps, only }: RunOptions): string {
  const fleet = values.fleet ? ' --fleet' : ''
  return `npm run models -- --seed ${seed} --steps ${steps}${fleet}${only ? ` --only ${only.join()}` : ''}`
}
