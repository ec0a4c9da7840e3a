import type { EventData } from 'node:test'
import type { TestEvent } from 'node:test/reporters'
import { stripVTControlCharacters, styleText } from 'node:util'
import { root } from './prepare.mjs'

/**
 * What `npm test` says: a line for each check as it ends, then each failure and each skip with its reason, then
 * the two counts. `strict` makes a failure of every skip, as CI wants it.
 */
export class Report {
  readonly strict: boolean
  readonly #failures: string[] = []
  readonly #skips: string[] = []
  #passed = 0

  constructor(strict: boolean) {
    this.strict = strict
  }

  passed(): void {
    this.#passed += 1
  }

  failed(what: string, why: string): void {
    this.#failures.push(`${styleText('red', 'FAILED')}  ${what}\n${indent(why.trimEnd())}\n`)
  }

  skipped(what: string, why: string): void {
    this.#skips.push(`skipped  ${what}: ${why}`)
  }

  line(
    what: string,
    { passed, milliseconds, note = '' }: { passed: boolean; milliseconds: number; note?: string },
  ): void {
    const mark = passed ? 'ok    ' : styleText('red', 'FAILED')
    console.log(
      `${mark}  ${what.padEnd(44)} ${(milliseconds / 1000).toFixed(1).padStart(6)} s  ${note}`.trimEnd(),
    )
  }

  /** Collects the events of one test file. */
  file(path: string): FileReport {
    return new FileReport(this, path)
  }

  /** Prints what is left to say; true when nothing failed. */
  end(): boolean {
    for (const part of [...this.#failures, ...this.#skips]) console.log(`\n${part}`.trimEnd())
    console.log(`\n${this.#passed} passed, ${this.#failures.length} failed`)
    return this.#failures.length === 0
  }
}

/** The last lines of what a file printed, shown with its failures: seeds and logs. */
const OUTPUT_LINES = 60

type TestError = Error & { failureType?: string; exitCode?: number | null; signal?: string | null }

class FileReport {
  readonly #report: Report
  readonly #path: string
  readonly #started = performance.now()
  readonly #names = new Map<number, { name: string; parent: number | undefined }>()
  readonly #failures: { what: string; why: string }[] = []
  #tests = 0
  #output = ''

  constructor(report: Report, path: string) {
    this.#report = report
    this.#path = path
  }

  heard({ type, data }: TestEvent): void {
    if (type === 'test:enqueue') this.#names.set(data.testId, { name: data.name, parent: data.parentId })
    else if (type === 'test:stdout' || type === 'test:stderr') this.#output += data.message
    else if (type === 'test:diagnostic' && data.entryFile) this.#output += `${data.message}\n`
    else if (type === 'test:pass') this.#passed(data)
    else if (type === 'test:fail') this.#failed(data)
  }

  end(): void {
    const lines = stripVTControlCharacters(this.#output).trimEnd().split('\n').slice(-OUTPUT_LINES)
    for (const [index, { what, why }] of this.#failures.entries()) {
      const output =
        index === 0 && lines.join('') !== '' ? `\nprinted by this file:\n${indent(lines.join('\n'))}` : ''
      this.#report.failed(what, why + output)
    }
    const failed = this.#failures.length
    this.#report.line(this.#path, {
      passed: failed === 0,
      milliseconds: performance.now() - this.#started,
      note: `${this.#tests} ${this.#tests === 1 ? 'test' : 'tests'}${failed ? `, ${failed} failed` : ''}`,
    })
  }

  #passed(test: EventData.TestPass): void {
    const reason = test.skip ?? test.todo
    if (reason !== undefined) this.#skipped(this.#title(test), String(reason))
    else if (test.details.type !== 'suite') {
      this.#tests += 1
      this.#report.passed()
    }
  }

  #skipped(what: string, why: string): void {
    if (!this.#report.strict) this.#report.skipped(what, why)
    else this.#failures.push({ what, why: `skipped, which CI does not allow: ${why}` })
  }

  #failed(test: EventData.TestFail): void {
    const error = test.details.error as TestError
    if (error.failureType === 'subtestsFailed') return
    this.#tests += 1
    // Node reports a file as a test of its own when its process failed apart from its tests.
    if (test.entryFile !== undefined) this.#failures.push({ what: this.#title(test), why: explain(error) })
    else if (error.failureType === 'testAborted')
      this.#failures.push({ what: this.#path, why: 'was stopped: it did not end' })
    else {
      const ending = error.signal ? `was ended by ${error.signal}` : `ended with exit code ${error.exitCode}`
      this.#failures.push({ what: this.#path, why: `${ending}, outside its tests` })
    }
  }

  #title(test: EventData.TestPass | EventData.TestFail): string {
    const names: string[] = []
    for (let id: number | undefined = test.testId; id; id = this.#names.get(id)?.parent) {
      names.unshift(this.#names.get(id)?.name ?? '')
    }
    return `${this.#path}:${test.line ?? 1}  ${names.join(' › ')}`
  }
}

/** Node wraps what a test threw; what counts is inside, with the causes it has in turn. */
function explain(failure: Error): string {
  const parts: string[] = []
  for (
    let cause: unknown = failure.cause ?? failure;
    cause !== undefined;
    cause = (cause as Error | null)?.cause
  ) {
    parts.push(withoutNode(cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)))
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

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '    ')
}
