import { relative } from 'node:path'
import type { EventData } from 'node:test'
import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'
import { root } from './root.mjs'

/** A test by its file, relative to the root, its line, and the titles of its suites and its own. */
export interface TestId {
  file: string
  line: number
  titles: string[]
}

/** Messages from the process of a test group to the runner; `end` is always the last. */
export type ReporterMessage =
  | { kind: 'started'; test: TestId }
  | { kind: 'passed' }
  | { kind: 'failed' | 'skipped'; test: TestId; why: string }
  /** How long the tests of a file took; once for each of its outermost tests and suites. */
  | { kind: 'time'; file: string; milliseconds: number }
  | { kind: 'note'; text: string }
  | { kind: 'end' }

// The runner has died: ends everything that the tests started.
process.once('disconnect', () => process.kill(0, 'SIGKILL'))
process.channel?.unref()

/** Node's own summary at the end. */
const COUNT = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/

/** The reporter of a test group: prints nothing and sends messages to the runner. */
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<never> {
  const names = new Map<number, { name: string; parent: number | undefined }>()
  const identify = (test: { testId: number; file?: string; line?: number }): TestId => {
    const titles: string[] = []
    for (let id: number | undefined = test.testId; id; id = names.get(id)?.parent) {
      titles.unshift(names.get(id)?.name ?? '')
    }
    return { file: relative(root, test.file ?? ''), line: test.line ?? 1, titles }
  }
  for await (const { type, data } of events) {
    if (type === 'test:enqueue') names.set(data.testId, { name: data.name, parent: data.parentId })
    else if (type === 'test:dequeue') send({ kind: 'started', test: identify(data) })
    else if (type === 'test:pass') passed(data, identify(data))
    else if (type === 'test:fail') failed(data, identify(data))
    else if (type === 'test:diagnostic' && !COUNT.test(data.message))
      send({ kind: 'note', text: data.message })
    if ((type === 'test:pass' || type === 'test:fail') && data.nesting === 0)
      send({ kind: 'time', file: identify(data).file, milliseconds: data.details.duration_ms })
  }
  // The process exits when this generator ends, without what a busy runner has not read.
  await new Promise((resolve) => process.send?.({ kind: 'end' } satisfies ReporterMessage, resolve))
}

function passed({ skip, todo, details }: EventData.TestPass, test: TestId): void {
  const reason = skip ?? todo
  if (reason !== undefined) send({ kind: 'skipped', test, why: String(reason) })
  else if (details.type !== 'suite') send({ kind: 'passed' })
}

function failed({ details }: EventData.TestFail, test: TestId): void {
  const error = details.error as Error & { failureType?: string }
  if (error.failureType !== 'subtestsFailed') send({ kind: 'failed', test, why: explain(error) })
}

/** Unwraps Node's error to what the test threw, with its causes. */
function explain(failure: Error): string {
  const parts: string[] = []
  for (
    let cause: unknown = failure.cause ?? failure;
    cause !== undefined;
    cause = (cause as Error | null)?.cause
  ) {
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

function send(message: ReporterMessage): void {
  process.send?.(message)
}
