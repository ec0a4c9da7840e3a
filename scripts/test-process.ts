import { createRequire, flushCompileCache } from 'node:module'
import { join, relative } from 'node:path'
import type { EventData } from 'node:test'
import type { TestEvent } from 'node:test/reporters'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { inspect, parseArgs } from 'node:util'
import { endOfTests } from './end-of-tests.ts'
import { root } from './root.mjs'

// `node test-process.ts [--title TITLE] FILE…` is the process of a test group: runs the files one after another, and reports to
// the runner, which started it.

/** A test by its file, relative to the root, its line, and the titles of its suites and its own. */
export interface TestId {
  file: string
  line: number
  titles: string[]
}

/** Messages to the runner; `end` is always the last. */
export type ReporterMessage =
  | { kind: 'started'; test: TestId }
  | { kind: 'passed' }
  | { kind: 'skipped'; test: TestId; why: string }
  /** Without `test` no test has begun. */
  | { kind: 'failed'; test?: TestId; why: string }
  /** How long the tests of a file took; once for each of its outermost tests and suites. */
  | { kind: 'time'; file: string; milliseconds: number }
  | { kind: 'note'; text: string }
  | { kind: 'end' }

// The runner has died: ends everything that the tests started.
process.once('disconnect', () => process.kill(0, 'SIGKILL'))
process.channel?.unref()

/** Node's own summary at the end. */
const COUNT = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/

// Node's test runner follows every promise to find the test that an error belongs to, which costs up to 30 % of the CPU time
// of a file (docs/decisions/043-test-process.md). Without that, an error that no test receives ends the process.
const asyncHooks = createRequire(import.meta.url)('node:async_hooks') as typeof import('node:async_hooks')
const { createHook } = asyncHooks
asyncHooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false })
const { run } = await import('node:test')

let running: TestId | undefined
for (const kind of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(kind, async (error: unknown) => {
    const why = `${explain(error)}\n(${kind}: no test received it, and the rest of the group did not run)`
    await sendLast({ kind: 'failed', ...(running && { test: running }), why })
    endProcess()
  })

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { title: { type: 'string' } },
})
const { title } = values
// The runner separates titles of suites by spaces.
const titles = title && RegExp.escape(title.replaceAll(' › ', ' '))
const pattern = titles === undefined ? {} : { testNamePatterns: new RegExp(`${titles}$`) }
// Where no test has the title, Node runs no hook that begins something, but those that end it, which then fail or wait.
endOfTests.reached = async () => {
  await nextTurn()
  if (title === undefined || running) return
  await sendLast({ kind: 'end' })
  endProcess()
}
const [first, last] = ['tests-begun.ts', 'tests-ended.ts'].map((name) => join(import.meta.dirname, name))
await report(run({ files: [first!, ...positionals, last!], isolation: 'none', ...pattern }))
const { ended } = await import('./tests-ended.ts')
await ended.promise
await sendLast({ kind: 'end' })
endProcess()

/** Sends what the runner needs of these events, until all tests have ended. */
async function report(events: AsyncIterable<TestEvent>): Promise<void> {
  const names = new Map<number, { name: string; parent: number | undefined }>()
  const identify = (test: { testId: number; file?: string; line?: number }): TestId => {
    const titles: string[] = []
    for (let id: number | undefined = test.testId; id; id = names.get(id)?.parent) {
      titles.unshift(names.get(id)?.name ?? '')
    }
    return { file: relative(root, test.file ?? ''), line: test.line ?? 1, titles }
  }
  for await (const { type, data } of events) {
    if (data && 'file' in data && data.file === first) continue
    if (data && 'file' in data && data.file === last) {
      if (type === 'test:pass') return
      continue
    }
    if (type === 'test:enqueue') names.set(data.testId, { name: data.name, parent: data.parentId })
    else if (type === 'test:dequeue') {
      running = identify(data)
      send({ kind: 'started', test: running })
    } else if (type === 'test:pass') passed(data, identify(data))
    else if (type === 'test:fail') failed(data, identify(data))
    else if (type === 'test:diagnostic' && !COUNT.test(data.message))
      send({ kind: 'note', text: data.message })
    if ((type === 'test:pass' || type === 'test:fail') && data.nesting === 0)
      send({ kind: 'time', file: identify(data).file, milliseconds: data.details.duration_ms })
  }
}

function passed({ skip, todo, details }: EventData.TestPass, test: TestId): void {
  const reason = skip ?? todo
  if (reason !== undefined) send({ kind: 'skipped', test, why: String(reason) })
  else if (details.type !== 'suite') send({ kind: 'passed' })
}

function failed({ details }: EventData.TestFail, test: TestId): void {
  const error = details.error as Error & { failureType?: string }
  if (error.failureType !== 'subtestsFailed')
    send({ kind: 'failed', test, why: explain(error.cause ?? error) })
}

/** What a test threw, with its causes. */
function explain(failure: unknown): string {
  const parts: string[] = []
  for (let cause = failure; cause !== undefined; cause = (cause as Error | null)?.cause) {
    parts.push(
      cause instanceof Error
        ? withoutNode(cause.stack ?? cause.message)
        : typeof cause === 'string'
          ? cause
          : inspect(cause),
    )
  }
  return parts.join('\ncaused by ')
}

function withoutNode(stack: string): string {
  return stack
    .split('\n')
    .filter((line) => !/^\s+at .*\(?node:/.test(line))
    .join('\n')
    .replaceAll(`file://${root}/`, '')
}

/**
 * Ends this process, whatever the tests have left open. In `process.exit` Node can wait forever for a thread that compiles and that
 * itself waits for a garbage collection of this thread: https://github.com/nodejs/node/issues/54918.
 */
function endProcess(): void {
  process.emit('exit', 0)
  flushCompileCache()
  process.kill(process.pid, 'SIGKILL')
}

function send(message: ReporterMessage): void {
  process.send?.(message)
}

/** Resolves when the runner has it. */
function sendLast(message: ReporterMessage): Promise<void> {
  return new Promise((resolve) => {
    if (process.send) process.send(message, () => resolve())
    else resolve()
  })
}
