import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { TestDurations } from './durations.ts'
import { Report } from './report.ts'
import { root } from './root.mjs'
import { runTestGroup, type TestGroup } from './test-group.ts'

// Every check of the project, on the pinned Node: `node scripts/run-checks.ts [part of a test file's path …]`.
// With a path only the tests run; without one types, lint, regular expressions and wording count as one check each.

/**
 * Folders whose files run in a process each: their top-level hooks would apply to every file of the process. A file
 * directly under `test/` also has its own, because it measures or ends its process.
 */
const SEPARATE_FOLDERS = ['test']

const MAX_GROUP_FILES = 18

/** Fewer where a file takes long. */
const MAX_FOLDER_GROUP_FILES: Record<string, number> = { 'test/dashboard': 8 }

const report = new Report(process.env.CI === 'true')
const durations = new TestDurations()
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort(signal))

const parts = process.argv.slice(2)
const groups = durations.sortLongestFirst(testGroups())
if (groups.length === 0) report.failed('tests', `no test file has ${parts.join(' or ')} in its path`)
if (parts.length === 0) {
  await program('types', ['node_modules/typescript/bin/tsc', '--noEmit'])
  await program('lint', ['node_modules/@biomejs/biome/bin/biome', 'check', '.'])
  await program('regular expressions', ['scripts/regular-expressions.ts'])
  await program('wording', ['scripts/wording.ts'])
}
await forEachConcurrent(groups, Math.max(2, availableParallelism()), runGroup)
durations.save()
if (stop.signal.aborted) report.failed('all checks', `stopped by ${stop.signal.reason}`)
process.exitCode = report.end() ? 0 : 1

/** The chosen test files, by the process that runs them: loading the server costs more CPU time than most files. */
function testGroups(): TestGroup[] {
  const found = globSync('{client,dashboard,protocol,server,test,bench,scripts}/**/*.test.ts', {
    cwd: root,
    exclude: ['**/node_modules/**', '**/dist/**'],
  })
  const chosen = found.filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
  const byName = Map.groupBy(chosen.sort(), (file) =>
    SEPARATE_FOLDERS.includes(dirname(file)) ? file : dirname(file),
  )
  return [...byName].flatMap(([name, files]) => splitGroup({ name, files }))
}

/** Large folders become several groups, so that the tests of one area use every core. */
function splitGroup({ name, files }: TestGroup): TestGroup[] {
  const count = Math.ceil(files.length / (MAX_FOLDER_GROUP_FILES[name] ?? MAX_GROUP_FILES))
  if (count === 1) return [{ name: files.length === 1 ? files[0]! : name, files }]
  const size = Math.ceil(files.length / count)
  return Array.from({ length: count }, (_, index) => ({
    name: `${name} (${index + 1} of ${count})`,
    files: files.slice(index * size, (index + 1) * size),
  }))
}

async function program(name: string, [script, ...args]: [string, ...string[]]): Promise<void> {
  const started = performance.now()
  const command = [join(root, script), ...args]
  const child = spawn(process.execPath, command, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ])
  const failure = code === 0 ? undefined : `${out}${errors}`
  report.check(name, { milliseconds: performance.now() - started, failure })
}

async function runGroup(group: TestGroup): Promise<void> {
  const started = performance.now()
  const outcome = await runTestGroup(group, stop.signal)
  const milliseconds = performance.now() - started
  if (!stop.signal.aborted) durations.record(group.name, milliseconds)
  report.testGroup(group.name, { milliseconds, outcome })
}

async function forEachConcurrent<T>(
  items: T[],
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values()
  const worker = async () => {
    for (const item of queue) if (!stop.signal.aborted) await work(item)
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
}
