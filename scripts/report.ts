import { styleText } from 'node:util'
import type { GroupEnd, Problem, TestGroup } from './test-group.ts'
import type { TestId } from './test-process.ts'

interface Ending {
  milliseconds: number
  /** Undefined when it passed. */
  failure?: string | undefined
  note?: string | undefined
}

/** Between lines about progress where the output is not a terminal. */
const PROGRESS_INTERVAL_MS = 30_000
const TERMINAL_INTERVAL_MS = 500

/** Most tests take less than a second, and nearly all less than this on a busy machine. */
const LONG_TEST_MS = 60_000

/**
 * The output of `npm test`: each failure when it happens, with the command that repeats it; a line per check and group
 * as it ends; progress; then the skips by their reason, and the counts. `strict` turns every skip into a failure, as CI
 * requires.
 */
export class Report {
  readonly #strict: boolean
  readonly #seed: number
  readonly #flags: readonly string[]
  readonly #total: number
  readonly #started = performance.now()
  /** The checks and groups, with the time when they or the current test of a group began. */
  readonly #running = new Map<string, { test?: TestId; since: number }>()
  /** The skipped tests, by the reason. */
  readonly #skips = new Map<string, string[]>()
  /** What failed, for the end of the output. */
  readonly #failures: string[] = []
  readonly #timer: NodeJS.Timeout
  #done = 0
  #passed = 0
  #failed = 0

  /** `total` is the number of checks and groups of the run, and `flags` choose its tests and their variants. */
  constructor(options: { strict: boolean; seed: number; total: number; flags: readonly string[] }) {
    this.#strict = options.strict
    this.#seed = options.seed
    this.#flags = options.flags
    this.#total = options.total
    const interval = process.stdout.isTTY ? TERMINAL_INTERVAL_MS : PROGRESS_INTERVAL_MS
    this.#timer = setInterval(() => this.#showProgress(), interval)
  }

  /** Whether no check and no test has ended. */
  get isEmpty(): boolean {
    return this.#passed + this.#failed + this.#skips.size === 0
  }

  /** A check or a group begins, or a test of a group. */
  started(name: string, test?: TestId): void {
    this.#running.set(name, { ...(test && { test }), since: performance.now() })
  }

  passed(): void {
    this.#passed += 1
  }

  failed({ test, why }: Problem): void {
    if (test) this.#fail(describe(test), why, { repeat: this.#commandOf(test), isTest: true })
    else this.#fail('the run', why)
  }

  skipped({ test, why }: Problem): void {
    if (this.#strict) this.failed({ ...(test && { test }), why: `skipped, which CI does not allow: ${why}` })
    else this.#skips.set(why, [...(this.#skips.get(why) ?? []), test ? describe(test) : 'the run'])
  }

  /** A check that counts as one ends. */
  check(name: string, { failure, ...ending }: Ending & { repeat?: string }): void {
    if (failure === undefined) this.#passed += 1
    else this.#fail(name, failure, { repeat: ending.repeat })
    this.#end(name, { failure, ...ending })
  }

  /** A group ends, of which `counts` passed, failed and were skipped. */
  testGroup({ name }: TestGroup, end: GroupEnd & { milliseconds: number; counts: Counts }): void {
    const { counts, printed, milliseconds, cpuMs } = end
    if (counts.failed > 0 && printed) this.#print(`printed by ${name}:\n${indented(printed)}\n`)
    const tests = counts.passed + counts.failed + counts.skipped
    const parts = [`${tests} ${tests === 1 ? 'test' : 'tests'}`]
    if (counts.failed > 0) parts.push(`${counts.failed} failed`)
    if (counts.skipped > 0) parts.push(`${counts.skipped} skipped`)
    if (cpuMs > 0) parts.push(`${(cpuMs / 1000).toFixed(1)} s of CPU time`)
    const failure = counts.failed > 0 ? 'above' : undefined
    this.#end(name, { milliseconds, failure, note: parts.join(', ') })
  }

  /** Prints the rest; returns whether nothing failed. */
  end({ interrupted }: { interrupted: boolean }): boolean {
    clearInterval(this.#timer)
    for (const [why, tests] of this.#skips)
      this.#print(`\nskipped  ${tests.length}, ${why}\n${indented(tests.join('\n'))}`)
    const elapsed = formatElapsed(performance.now() - this.#started)
    if (this.#failures.length > 0 && this.#total > 1) console.log(`${this.#failures.join('\n')}\n`)
    console.log(
      interrupted
        ? `interrupted after ${elapsed}, running: ${this.#listRunning()}`
        : `ended after ${elapsed}`,
    )
    const skips = [...this.#skips.values()].flat().length
    const skipped = skips > 0 ? `, ${skips} skipped` : ''
    console.log(`${this.#passed} passed, ${this.#failed} failed${skipped}`)
    return this.#failed === 0
  }

  #fail(
    title: string,
    why: string,
    { repeat, isTest = false }: { repeat?: string | undefined; isTest?: boolean } = {},
  ): void {
    this.#failed += 1
    const line = `${styleText('red', 'FAILED')}  ${title}`
    // The place of a test says enough; anything else has its reason above, perhaps thousands of lines before.
    this.#failures.push(isTest ? line : `${line}: ${why.trim().split('\n', 1)[0]}`)
    const command = repeat ? `\nto repeat it: ${repeat}` : ''
    this.#print(`\n${line}\n${indented(why.trimEnd() + command)}\n`)
  }

  #end(name: string, { failure, milliseconds, note }: Ending): void {
    this.#done += 1
    this.#running.delete(name)
    const mark = failure === undefined ? 'ok    ' : styleText('red', 'FAILED')
    const seconds = (milliseconds / 1000).toFixed(1).padStart(6)
    this.#print(`${mark}  ${name.padEnd(36)} ${seconds} s  ${note ?? ''}`.trimEnd())
  }

  #commandOf({ file, titles }: TestId): string {
    const title = titles.join(' › ').replaceAll("'", `'\\''`)
    return [`SEED=${this.#seed} npm test --`, file, ...this.#flags, `--name '${title}'`].join(' ')
  }

  #showProgress(): void {
    const elapsed = formatElapsed(performance.now() - this.#started)
    const counts = `${this.#passed} passed${this.#failed > 0 ? `, ${this.#failed} failed` : ''}`
    const line = `${this.#done}/${this.#total}, ${elapsed}, ${counts}, running: ${this.#listRunning()}`
    if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${line.slice(0, process.stdout.columns - 1)}`)
    else console.log(`        ${line}`)
  }

  /** With the place of each test that takes long: the one to look at when a run seems to hang. */
  #listRunning(): string {
    const now = performance.now()
    const names = this.#running.entries().map(([name, { test, since }]) => {
      const isLong = test && now - since >= LONG_TEST_MS
      return isLong ? `${name} (${test.file}:${test.line} for ${formatElapsed(now - since)})` : name
    })
    return [...names].join(', ')
  }

  #print(text: string): void {
    if (process.stdout.isTTY) process.stdout.write('\r\x1b[K')
    console.log(text)
  }
}

export interface Counts {
  passed: number
  failed: number
  skipped: number
}

function describe({ file, line, titles }: TestId): string {
  return `${file}:${line}  ${titles.join(' › ')}`
}

function formatElapsed(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '    ')
}
