import type { Log, LogFields } from './log.ts'
import { MINUTE_MS } from './time.ts'

/** A warning about an event that clients cause: logged at most once a minute, with the number of events since the line before. */
export class SummarizedWarning {
  readonly #log: Log
  readonly #message: string
  #loggedAt = Number.NEGATIVE_INFINITY
  #refused = 0

  constructor(log: Log, message: string) {
    this.#log = log
    this.#message = message
  }

  add(fields: LogFields = {}): void {
    this.#refused++
    const now = performance.now()
    if (now - this.#loggedAt < MINUTE_MS) return
    this.#loggedAt = now
    this.#log.warn(this.#message, { refused: this.#refused, ...fields })
    this.#refused = 0
  }
}
