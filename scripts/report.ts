import { styleText } from 'node:util'
import type { Outcome } from './test-group.ts'

/**
 * The output of `npm test`: a line per check as it ends, then each failure and each skip with its reason,
 * then the two counts. `strict` turns every skip into a failure, as CI requires.
 */
export class Report {
  readonly #strict: boolean
  readonly #failures: string[] = []
  readonly #skips: string[] = []
  #passed = 0

  constructor(strict: boolean) {
    this.#strict = strict
  }

  /** A check that counts as one. */
  check(
    name: string,
    { milliseconds, failure }: { milliseconds: number; failure: string | undefined },
  ): void {
    if (failure === undefined) this.#passed += 1
    else this.failed(name, failure)
    line(name, { good: failure === undefined, milliseconds })
  }

  testGroup(name: string, { milliseconds, outcome }: { milliseconds: number; outcome: Outcome }): void {
    const { passed, printed, skipped } = outcome
    const failed = this.#strict ? [...outcome.failed, ...skipped.map(refused)] : outcome.failed
    const last = failed.at(-1)
    for (const failure of failed) {
      const output = failure === last && printed ? `\nprinted by this process:\n${indented(printed)}` : ''
      this.failed(failure.what, failure.why + output)
    }
    if (!this.#strict) this.#skips.push(...skipped.map(({ what, why }) => `skipped  ${what}: ${why}`))
    this.#passed += passed
    const tests = passed + outcome.failed.length + skipped.length
    const counts = [`${tests} ${tests === 1 ? 'test' : 'tests'}`]
    if (failed.length > 0) counts.push(`${failed.length} failed`)
    if (skipped.length > 0) counts.push(`${skipped.length} skipped`)
    line(name, { good: failed.length === 0, milliseconds, note: counts.join(', ') })
  }

  failed(what: string, why: string): void {
    this.#failures.push(`${styleText('red', 'FAILED')}  ${what}\n${indented(why.trimEnd())}`)
  }

  /** Prints the rest; returns whether nothing failed. */
  end(): boolean {
    for (const failure of this.#failures) console.log(`\n${failure}`)
    if (this.#skips.length > 0) console.log(`\n${this.#skips.join('\n')}`)
    console.log(`\n${this.#passed} passed, ${this.#failures.length} failed`)
    return this.#failures.length === 0
  }
}

function refused({ what, why }: { what: string; why: string }): { what: string; why: string } {
  return { what, why: `skipped, which CI does not allow: ${why}` }
}

function line(what: string, o: { good: boolean; milliseconds: number; note?: string }): void {
  const mark = o.good ? 'ok    ' : styleText('red', 'FAILED')
  const seconds = (o.milliseconds / 1000).toFixed(1).padStart(6)
  console.log(`${mark}  ${what.padEnd(40)} ${seconds} s  ${o.note ?? ''}`.trimEnd())
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '    ')
}
