import type { Deadlines } from '../../lib/deadlines.ts'
import { unavailable } from './errors.ts'

/** What waits for an answer of the database, or for a connection. */
interface Expected {
  timeoutMs: number
  giveUp: () => void
}

/** Checks without an answer: a process that was busy for long has one check, and may have received an answer since. */
const CHECKS = 4

/**
 * Whether the database hangs: it has answered nothing, over any connection, while something waited. Any answer ends
 * it, such as that of a poll of the change feed.
 */
export class AnswerWatch implements Disposable {
  readonly #timeouts: Pick<Deadlines['database'], 'read' | 'silence'>
  readonly #expected = new Set<Expected>()
  readonly #timer: NodeJS.Timeout
  #silentChecks = 0
  #answeredAt = performance.now()

  constructor(timeouts: Pick<Deadlines['database'], 'read' | 'silence'>) {
    this.#timeouts = timeouts
    this.#timer = setInterval(() => this.#check(), timeouts.silence / CHECKS).unref()
  }

  get isHanging(): boolean {
    return this.#silentChecks > CHECKS
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  /** UNAVAILABLE while the database answers nothing. */
  assertAnswering(): void {
    if (this.isHanging) throw unavailable()
  }

  /** `giveUp` is called once the database hangs, unless the deadline is longer than that of a read. Returns the end. */
  expect(timeoutMs: number, giveUp: () => void): () => void {
    const expected = { timeoutMs, giveUp }
    this.#expected.add(expected)
    return () => void this.#expected.delete(expected)
  }

  noteAnswer(): void {
    this.#silentChecks = 0
    this.#answeredAt = performance.now()
  }

  /** The rest of a wait: none of a read while the database hangs; then others end that long after its last answer. */
  limitWait(timeoutMs: number): number {
    if (!this.isHanging) return timeoutMs
    const restMs = timeoutMs - (performance.now() - this.#answeredAt)
    if (this.#isShort(timeoutMs) || restMs <= 0) throw unavailable()
    return restMs
  }

  #isShort(timeoutMs: number): boolean {
    return timeoutMs <= this.#timeouts.read
  }

  #check(): void {
    if (this.#expected.size > 0) this.#silentChecks++
    if (!this.isHanging) return
    for (const { timeoutMs, giveUp } of this.#expected) if (this.#isShort(timeoutMs)) giveUp()
  }
}
