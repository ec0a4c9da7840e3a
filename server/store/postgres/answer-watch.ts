import { Component } from '../../lib/component.ts'
import type { Deadlines } from '../../lib/deadlines.ts'
import { unavailable } from './errors.ts'

type AnswerTimeouts = Pick<Deadlines['database'], 'read' | 'silence'>

/** Checks without an answer: a process that was busy for long has one check, and may have received an answer since. */
const CHECKS = 4

/**
 * Whether the database hangs: it has answered nothing, over any connection, while something waited. Any answer ends
 * it, such as that of a poll of the change feed.
 */
export class AnswerWatch extends Component<AnswerTimeouts> implements Disposable {
  /** The deadlines of what waits for an answer or a connection, in milliseconds. */
  readonly #expected = new Map<() => void, number>()
  readonly #timer = setInterval(() => this.#check(), this.parts.silence / CHECKS).unref()
  #silentChecks = 0
  #answeredAt = performance.now()

  get isHanging(): boolean {
    return this.#silentChecks > CHECKS
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  assertAnswering(): void {
    if (this.isHanging) throw unavailable()
  }

  /** `giveUp` is called once the database hangs, unless the deadline is longer than that of a read. Returns the end. */
  expect(timeoutMs: number, giveUp: () => void): () => void {
    this.#expected.set(giveUp, timeoutMs)
    return () => void this.#expected.delete(giveUp)
  }

  noteAnswer(): void {
    this.#silentChecks = 0
    this.#answeredAt = performance.now()
  }

  /** The rest of a wait: none of a read while the database hangs; then others end that long after its last answer. */
  limitWait(timeoutMs: number): number {
    if (!this.isHanging) return timeoutMs
    const restMs = timeoutMs - (performance.now() - this.#answeredAt)
    if (timeoutMs <= this.parts.read || restMs <= 0) throw unavailable()
    return restMs
  }

  #check(): void {
    if (this.#expected.size > 0) this.#silentChecks++
    // Once: a later poll keeps its deadline, so that an answer can end this.
    if (this.#silentChecks !== CHECKS + 1) return
    for (const [giveUp, timeoutMs] of this.#expected) if (timeoutMs <= this.parts.read) giveUp()
  }
}
