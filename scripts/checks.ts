import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Report } from './report.ts'
import { root } from './root.mjs'
import { runTestFile } from './test-file.ts'

// Every check of the project, on the pinned Node: `node scripts/checks.ts [part of a test file's path …]`.
// With a path only the tests run; without one types and lint count as one check each.

const report = new Report(process.env.CI === 'true')
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort(signal))

const parts = process.argv.slice(2)
const files = testFiles()
if (files.length === 0) report.failed('tests', `no test file has ${parts.join(' or ')} in its path`)
if (parts.length === 0) {
  await program('types', ['typescript/bin/tsc', '--noEmit'])
  await program('lint', ['@biomejs/biome/bin/biome', 'check', '.'])
}
await inParallel(files, Math.max(2, availableParallelism()), testFile)
if (stop.signal.aborted) report.failed('all checks', `stopped by ${stop.signal.reason}`)
process.exitCode = report.end() ? 0 : 1

function testFiles(): string[] {
  return globSync('{client,server,dashboard,test,bench,scripts}/**/*.test.ts', {
    cwd: root,
    exclude: ['**/node_modules/**', '**/dist/**'],
  })
    .filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
    .sort()
}

async function program(name: string, [script, ...args]: [string, ...string[]]): Promise<void> {
  const started = performance.now()
  const command = [join(root, 'node_modules', script), ...args]
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
  report.testFile(file, { milliseconds: performance.now() - started, outcome })
}

async function inParallel<T>(items: T[], lanes: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values()
  const lane = async () => {
    for (const item of queue) if (!stop.signal.aborted) await work(item)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}
