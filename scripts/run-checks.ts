import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { TestDurations } from './durations.ts'
import { Report } from './report.ts'
import { root } from './root.mjs'
import { runTestFile } from './test-file.ts'

// Every check of the project, on the pinned Node: `node scripts/run-checks.ts [part of a test file's path …]`.
// With a path only the tests run; without one types, lint and regular expressions count as one check each.

const report = new Report(process.env.CI === 'true')
const durations = new TestDurations()
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort(signal))

const parts = process.argv.slice(2)
const files = testFiles()
if (files.length === 0) report.failed('tests', `no test file has ${parts.join(' or ')} in its path`)
if (parts.length === 0) {
  await program('types', ['node_modules/typescript/bin/tsc', '--noEmit'])
  await program('lint', ['node_modules/@biomejs/biome/bin/biome', 'check', '.'])
  await program('regular expressions', ['scripts/regular-expressions.ts'])
}
await forEachConcurrent(files, Math.max(2, availableParallelism()), testFile)
durations.save()
if (stop.signal.aborted) report.failed('all checks', `stopped by ${stop.signal.reason}`)
process.exitCode = report.end() ? 0 : 1

function testFiles(): string[] {
  const found = globSync('{client,dashboard,protocol,server,test,bench,scripts}/**/*.test.ts', {
    cwd: root,
    exclude: ['**/node_modules/**', '**/dist/**'],
  })
  const chosen = found.filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
  return durations.sortLongestFirst(chosen.sort())
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

async function testFile(file: string): Promise<void> {
  const started = performance.now()
  const outcome = await runTestFile(file, stop.signal)
  const milliseconds = performance.now() - started
  if (!stop.signal.aborted) durations.record(file, milliseconds)
  report.testFile(file, { milliseconds, outcome })
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
