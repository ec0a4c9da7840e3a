import { epochMs } from '../publishing/history.ts'

/** The time in which a node notices changes again after its database came back. */
const RECOVERY_MS = 3000

/** A time in which nodes may not notice changes, in milliseconds since 1970. */
export class Interruption {
  #since = Number.POSITIVE_INFINITY
  #until = Number.NEGATIVE_INFINITY

  begin(since = epochMs()): void {
    if (since > this.#until) this.#since = since
    this.#until = Number.POSITIVE_INFINITY
  }

  end(): void {
    this.#until = epochMs() + RECOVERY_MS
  }

  /** Since when changes may not have been noticed, if that was so at this time. */
  sinceWhen(time: number): number | undefined {
    return time <= this.#until ? this.#since : undefined
  }
}
