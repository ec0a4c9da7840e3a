import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { findNearest } from '../protocol/nearest.ts'
import { changedFiles, testsOf } from './changed-tests.ts'
import { TestDurations } from './durations.ts'
import { killProcessGroup } from './process-group.ts'
import { type Counts, Report } from './report.ts'
import { root } from './root.mjs'
import { createRunFolder } from './run-folder.ts'
import { SharedServers } from './shared-servers.ts'
import { isolateEnvironment } from './test-environment.ts'
import { type GroupListener, runTestGroup, type TestGroup } from './test-group.ts'

const USAGE = `Every check of the project, on the pinned Node: npm test -- [part of a test file's path ...]
With a part only the tests of these files run; without one types, lint, regular expressions and wording count as one
check each.

  --name TITLE    only tests with this title, or whose titles end with it; 'SUITE › TITLE' in a suite
  --changed       only tests that the files changed since the last commit, or on this branch, can reach; the nearest first
  --nightly       also files named *.nightly.test.ts
  --all-variants  every variant of tests that choose some, as the nightly run does
  --record        stores the durations of these files as the defaults of new clones (scripts/test-durations.json)

  npm test -- edge/cache
  SEED=7 npm test -- rules-hostile`

interface Check {
  name: string
  args: [string, ...string[]]
  repeat: string
}

const CHECKS: Check[] = [
  // Each checker instantiates the types of Kysely again: one takes two thirds of the CPU time of four.
  {
    name: 'types',
    args: ['node_modules/typescript/bin/tsc', '--noEmit', '--checkers', '1'],
    repeat: 'npm run types',
  },
  // It runs on Node 18.
  {
    name: 'types of the client',
    args: ['node_modules/typescript/bin/tsc', '--project', 'client'],
    repeat: 'npm run types',
  },
  { name: 'lint', args: ['node_modules/@biomejs/biome/bin/biome', 'check', '.'], repeat: 'npm run lint' },
  { name: 'regular expressions', args: ['scripts/regular-expressions.ts'], repeat: 'npm run lint' },
  { name: 'wording', args: ['scripts/wording.ts'], repeat: 'npm run lint' },
]

/** The check of CI that has the machine alone, after all others. */
const COSTS: Check = { name: 'costs', args: ['bench/guard.ts'], repeat: 'node bench/guard.ts' }

/**
 * Folders whose files run in a process each: their top-level hooks would apply to every file of the process. A file
 * directly under `test/` also has its own, because it measures or ends its process.
 */
const SEPARATE_FOLDERS = ['test']

/** Folders are cut into groups of this length: each takes seconds of CPU time to start, and every core has work until the end. */
const GROUP_MS = 120_000

/** More than cores, since tests wait for half of their time: for other processes, and for the disk. */
const CONCURRENCY = 2 * availableParallelism()

isolateEnvironment()
const { positionals: parts, values } = readArguments()
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort(signal))

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
const durations = new TestDurations()
const testFiles = listTestFiles()
const groups = testGroups(await chooseFiles())
const isWhole = parts.length === 0 && values.name === undefined
const isCi = process.env.CI === 'true'
const checks = isWhole ? CHECKS : []
const lastChecks = isWhole && isCi ? [COSTS] : []
const report = new Report({
  strict: isCi,
  seed,
  flags: (['nightly', 'all-variants'] as const).filter((flag) => values[flag]).map((flag) => `--${flag}`),
  total: checks.length + groups.length + lastChecks.length,
})
for (const part of parts.filter((one) => !testFiles.some((file) => isChosen(file, [one]))))
  report.failed({ why: `no test file has ${part} in its path${suggest(part)}` })
await runAll()
for (const check of lastChecks) if (!stop.signal.aborted) await runCheck(check)
if (values.name !== undefined && !stop.signal.aborted && report.isEmpty)
  report.failed({ why: `no test of these files has the title ${values.name}` })
if (!stop.signal.aborted && values.name === undefined && (isWhole || values.record))
  durations.save({ asDefaults: values.record })
const isGood = report.end({ interrupted: stop.signal.aborted })
process.exitCode = stop.signal.aborted ? 130 : isGood ? 0 : 1

async function runAll(): Promise<void> {
  using folder = createRunFolder()
  await using servers = new SharedServers({ TMPDIR: folder.path })
  const variants = values['all-variants'] && { TEST_VARIANTS: 'all' }
  const env = { TMPDIR: folder.path, SEED: String(seed), ...variants }
  await forEachConcurrent(
    [...checks.map((check) => () => runCheck(check)), ...groups.map((group) => () => runGroup(group))],
    async (work) => work(),
  )

  async function runGroup(group: TestGroup): Promise<void> {
    const started = performance.now()
    const counts: Counts = { passed: 0, failed: 0, skipped: 0 }
    const listener: GroupListener = {
      started: (test) => report.started(group.name, test),
      passed: () => {
        counts.passed++
        report.passed()
      },
      failed: (problem) => {
        counts.failed++
        report.failed(problem)
      },
      skipped: (problem) => {
        counts.skipped++
        report.skipped(problem)
      },
      time: (file, milliseconds) => {
        // Tests that several files share count for each of them.
        const files = group.files.includes(file) ? [file] : testsOf([file], group.files)
        for (const one of files) durations.add(one, milliseconds / files.length)
      },
    }
    report.started(group.name)
    const options = { servers, stop: stop.signal, listener, title: values.name, env }
    const end = await runTestGroup(group, options)
    if (stop.signal.aborted) return
    report.testGroup(group, { ...end, counts, milliseconds: performance.now() - started })
  }
}

function readArguments() {
  const options = {
    name: { type: 'string' },
    changed: { type: 'boolean', default: false },
    nightly: { type: 'boolean', default: false },
    'all-variants': { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  } as const
  try {
    const given = parseArgs({ allowPositionals: true, options })
    if (!given.values.help) return given
    console.log(USAGE)
    process.exit(0)
  } catch (error) {
    console.error(`${(error as Error).message.split('. ')[0]}\n\n${USAGE}`)
    process.exit(2)
  }
}

function listTestFiles(): string[] {
  return globSync('{client,dashboard,packages,protocol,server,test,bench,scripts}/**/*.test.ts', {
    cwd: root,
    exclude: ['**/node_modules/**', '**/dist/**'],
  }).sort()
}

/** In the order in which they run. */
async function chooseFiles(): Promise<string[]> {
  const chosen = testFiles.filter((file) => isChosen(file, parts.length > 0 ? parts : ['']))
  if (!values.changed) return chosen
  const { MUTATIONS } = await import('../test/mutations/table.ts')
  return testsOf(changedFiles(), chosen, MUTATIONS)
}

function isChosen(file: string, some: string[]): boolean {
  return some.some((part) => file.includes(part)) && (values.nightly || !file.endsWith('.nightly.test.ts'))
}

/** Names of folders and files that the misspelled part of a path may mean. */
function suggest(part: string): string {
  if (testFiles.some((file) => file.includes(part))) return ', except those of the nightly run: add --nightly'
  const names = new Set(testFiles.flatMap((file) => file.replace(/\.test\.ts$/, '').split('/')))
  const meant = findNearest(part.split('/').at(-1)!, [...names])
  return meant === undefined ? '' : `; did you mean ${meant}?`
}

/**
 * The test files by the process that runs them: loading the server costs more CPU time than most files. The longest group
 * runs first, or with --changed the one with the test that is nearest to a changed file.
 */
function testGroups(files: string[]): TestGroup[] {
  const byName = Map.groupBy(files, (file) =>
    SEPARATE_FOLDERS.includes(dirname(file)) ? file : dirname(file),
  )
  const groups = [...byName].flatMap(([name, files]) => splitGroup({ name, files }))
  if (values.changed) return groups
  return groups.toSorted((one, other) => expectedMs(other) - expectedMs(one))
}

function expectedMs({ files }: TestGroup): number {
  return files.reduce((sum, file) => sum + durations.expectedMs(file), 0)
}

/** Groups of about equal length. */
function splitGroup(group: TestGroup): TestGroup[] {
  const { name, files } = group
  const count = Math.min(files.length, Math.ceil(expectedMs(group) / GROUP_MS))
  if (count <= 1) return [{ name: files.length === 1 ? files[0]! : name, files }]
  const groups = Array.from({ length: count }, (_, index) => ({
    name: `${name} (${index + 1} of ${count})`,
    files: [] as string[],
  }))
  const longestFirst = files.toSorted((one, other) => durations.expectedMs(other) - durations.expectedMs(one))
  for (const file of longestFirst) {
    const shortest = groups.reduce((one, other) => (expectedMs(other) < expectedMs(one) ? other : one))
    shortest.files.push(file)
  }
  return groups
}

async function runCheck({ name, args: [script, ...args], repeat }: Check): Promise<void> {
  const started = performance.now()
  report.started(name)
  const child = spawn(process.execPath, [join(root, script), ...args], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const onStop = () => killProcessGroup(child)
  stop.signal.addEventListener('abort', onStop)
  const [out, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ])
  stop.signal.removeEventListener('abort', onStop)
  if (stop.signal.aborted) return
  const ending = code === 0 ? { note: out.trim().split('\n').at(-1) } : { failure: `${out}${errors}` }
  report.check(name, { milliseconds: performance.now() - started, ...ending, repeat })
}

async function forEachConcurrent<T>(items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values()
  const worker = async () => {
    for (const item of queue) if (!stop.signal.aborted) await work(item)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
}
