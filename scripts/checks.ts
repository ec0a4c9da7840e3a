import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { run } from 'node:test'
import { root } from './prepare.mjs'
import { Report } from './report.ts'

// Every check of the project, on the pinned Node: `node scripts/checks.ts [part of a test file's path …]`.
// With a path only the tests run; without one types and lint count as one check each.

/** Last resorts, in milliseconds: a test or a file that hangs fails, and the run goes on. */
const LONGEST_TEST = 120_000
const LONGEST_FILE = 480_000

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop.abort(signal))

const report = new Report(process.env.CI === 'true')
try {
  await everyCheck(process.argv.slice(2))
} catch (error) {
  // node:test takes over what nobody catches, and would end this process without a word.
  report.failed('the checks themselves', String((error as Error).stack))
}
process.exitCode = report.end() ? 0 : 1

async function everyCheck(parts: string[]): Promise<void> {
  const files = testFiles(parts)
  if (files.length === 0) report.failed('tests', `no test file has ${parts.join(' or ')} in its path`)
  if (parts.length === 0) {
    await program('types', ['typescript/bin/tsc', '--noEmit'])
    await program('lint', ['@biomejs/biome/bin/biome', 'check', '.'])
  }
  await inParallel(files, Math.max(2, availableParallelism()), testFile)
  if (stop.signal.aborted) report.failed('all checks', `stopped by ${stop.signal.reason}`)
}

function testFiles(parts: string[]): string[] {
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
  const child = spawn(process.execPath, command, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: stop.signal,
  })
  const [out, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ])
  report.line(name, { passed: code === 0, milliseconds: performance.now() - started })
  if (code === 0) report.passed()
  else report.failed(name, `${out}${errors}`)
}

async function inParallel<T>(items: T[], lanes: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values()
  const lane = async () => {
    for (const item of queue) if (!stop.signal.aborted) await work(item)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

/** One run for each file: only its signal ends a file that does not end by itself. */
async function testFile(file: string): Promise<void> {
  const tests = report.file(file)
  const events = run({
    cwd: root,
    files: [join(root, file)],
    execArgv: [`--test-timeout=${LONGEST_TEST}`],
    signal: AbortSignal.any([stop.signal, AbortSignal.timeout(LONGEST_FILE)]),
  })
  for await (const event of events) tests.heard(event)
  tests.end()
}
