import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { environment, prepare } from './prepare.mjs'
import { print } from './print.mjs'
import { root } from './root.mjs'
import { main, SetupError } from './setup-error.mjs'
import { run } from './spawn.mjs'
import { installParts } from './test-dependencies.mjs'

// `npm run nightly [-- part of a name …] [--record]`: the long form of every check, one after the other, for hours.
// `--record` writes the result of each to docs/nightly.md. Exits with 1 when a run failed.

/**
 * The runs by name: the script of Node with its arguments, and what it shows.
 *
 * @type {Record<string, { args: string[], shows: string }>}
 */
const RUNS = {
  tests: {
    args: ['scripts/run-checks.ts', '--nightly'],
    shows: '`npm test`, with the tests that need further programs',
  },
  variants: {
    args: ['scripts/run-checks.ts', 'test/dashboard/', 'test/journeys/', 'test/blobs/', '--all-variants'],
    shows: 'every variant of each flow, each page in every viewport and color scheme, long random runs',
  },
  interleaving: {
    args: ['test/fleet/main.ts', 'interleavings'],
    shows: 'every pair of concurrent calls that share a subject',
  },
  mutations: { args: ['test/mutations/main.ts'], shows: 'each mutation of the table is killed' },
  faults: { args: ['test/faults/main.ts'], shows: '50 power cuts, 300 kills, and each control' },
  models: {
    args: ['test/models/main.ts', '--steps', '500', '--runs', '20'],
    shows: '10,000 random operations on two nodes, compared with a model',
  },
  'fleet-models': {
    args: ['test/models/main.ts', '--steps', '500', '--runs', '10', '--fleet'],
    shows: 'the same over PostgreSQL and S3',
  },
  fleet: { args: ['test/fleet/main.ts', '--minutes', '10'], shows: 'ten minutes of faults in a fleet' },
  failovers: { args: ['test/fleet/main.ts', 'failovers'], shows: '20 promotions of the standby' },
  outages: {
    args: ['test/fleet/main.ts', 'outages'],
    shows: 'warm sites after each kind of change in outages of the database and of the bucket',
  },
  standby: {
    args: ['test/fleet/main.ts', 'standby'],
    shows: 'reads while accounts publish into a standby that does not answer',
  },
  rolling: { args: ['test/fleet/main.ts', 'rolling'], shows: 'a rolling upgrade under 100,000 visits' },
  restart: {
    args: ['test/fleet/main.ts', 'restart'],
    shows: 'restarts of one machine under 200,000 requests',
  },
  move: { args: ['test/fleet/main.ts', 'move'], shows: '10,000 sites into a fleet and back' },
  kills: { args: ['test/fleet/main.ts', 'kills'], shows: 'a kill at each event of a publish' },
  collection: { args: ['test/fleet/main.ts', 'collection'], shows: '200,000 steps of collection' },
  'fleet-tests': {
    args: ['test/fleet/main.ts', 'tests'],
    shows: 'the tests of the API, the edge, domains, visits and certificates on PostgreSQL and S3',
  },
  'repeated-writes': {
    args: ['test/fleet/main.ts', 'repeated-writes'],
    shows: 'the tests of the API with each write executed twice',
  },
  backups: { args: ['test/backup/main.ts'], shows: '50 backups under load, restored and compared' },
  renewals: { args: ['test/certificates/renewals-main.ts'], shows: 'ten years of 1,000 certificates' },
  'fast-path': { args: ['test/serving/fast-path-main.ts'], shows: 'a million requests through both parsers' },
  'ci-jobs': {
    args: ['scripts/ci-jobs.mjs'],
    shows: 'installation and build, and the client, from Node 18 and 26, from an empty npm cache',
  },
  packages: {
    args: ['scripts/package/main.ts', 'test'],
    shows: 'the Debian package in a new system: install, upgrade, remove, purge',
  },
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { record: { type: 'boolean', default: false } },
})

/** @type {NodeJS.Signals | undefined} */
let interrupted
for (const one of /** @type {NodeJS.Signals[]} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
  process.on(one, () => {
    interrupted = one
  })

const PAGE = join(root, 'docs', 'nightly.md')

await main(async () => {
  const node = await prepare()
  await installParts({ nightly: true })
  for (const [name, { args, shows }] of Object.entries(RUNS)) {
    if (positionals.length > 0 && !positionals.some((part) => name.includes(part))) continue
    if (interrupted) throw new SetupError(`interrupted by ${interrupted}`)
    print(`\n${name}: ${shows}`)
    const started = performance.now()
    const { code, signal } = await run(node, args, { cwd: root, env: { ...environment(), CI: 'true' } })
    const minutes = ((performance.now() - started) / 60_000).toFixed(1)
    if (interrupted)
      throw new SetupError(`${name} was interrupted by ${interrupted}; nothing of it is recorded.`)
    if (signal) throw new Error(`${name} was ended by ${signal}`)
    if (code !== 0) process.exitCode = 1
    print(`${name}: ${code === 0 ? 'passed' : 'FAILED'} after ${minutes} minutes`)
    if (!values.record) continue
    const date = new Date().toISOString().slice(0, 10)
    record(name, `${code === 0 ? 'passed' : '**failed**'} | ${minutes} | ${date}`)
  }
})

/** Replaces the last result of a run on the page, which keeps those of the others. @param {string} name @param {string} result */
function record(name, result) {
  const known = readFileSync(PAGE, 'utf8').split('\n')
  const rows = Object.entries(RUNS).map(([one, { shows }]) => {
    const start = `| ${one} | ${shows} | `
    if (one === name) return `${start}${result} |`
    return known.find((line) => line.startsWith(start)) ?? `${start}not run yet | | |`
  })
  const head = known.slice(
    0,
    known.findIndex((line) => line.startsWith('|')),
  )
  const title = '| run | what it shows | last result | minutes | on |\n|---|---|---|---|---|'
  writeFileSync(PAGE, [...head, title, ...rows, ''].join('\n'))
}
