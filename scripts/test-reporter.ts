import { relative } from 'node:path'
import type { EventData } from 'node:test'
import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'
import { root } from './root.mjs'

/** Messages from the process of a test group to the runner, one per test; `end` is always the last. */
export type ReporterMessage =
  | { kind: 'passed' }
  | { kind: 'failed' | 'skipped'; what: string; why: string }
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
  const getTitle = (test: EventData.TestPass | EventData.TestFail) => {
    const title: string[] = []
    for (let id: number | undefined = test.testId; id; id = names.get(id)?.parent) {
      title.unshift(names.get(id)?.name ?? '')
    }
    return `${relative(root, test.file ?? '')}:${test.line ?? 1}  ${title.join(' › ')}`
  }
  for await (const { type, data } of events) {
    if (type === 'test:enqueue') names.set(data.testId, { name: data.name, parent: data.parentId })
    else if (type === 'test:pass') passed(data, getTitle)
    else if (type === 'test:fail') failed(data, getTitle)
    else if (type === 'test:diagnostic' && !COUNT.test(data.message))
      send({ kind: 'note', text: data.message })
  }
  send({ kind: 'end' })
}

function passed(test: EventData.TestPass, getTitle: (test: EventData.TestPass) => string): void {
  const reason = test.skip ?? test.todo
  if (reason !== undefined) send({ kind: 'skipped', what: getTitle(test), why: String(reason) })
  else if (test.details.type !== 'suite') send({ kind: 'passed' })
}

function failed(test: EventData.TestFail, getTitle: (test: EventData.TestFail) => string): void {
  const error = test.details.error as Error & { failureType?: string }
  if (error.failureType !== 'subtestsFailed')
    send({ kind: 'failed', what: getTitle(test), why: explain(error) })
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
