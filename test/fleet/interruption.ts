/** The time in which a node notices changes again after its database came back. */
const RECOVERY_MS = 3000

/** A time in which nodes may not notice changes, by `performance.now()`. */
export class Interruption {
  #since = Number.POSITIVE_INFINITY
  #until = Number.NEGATIVE_INFINITY

  begin(since = performance.now()): void {
    if (since > this.#until) this.#since = since
    this.#until = Number.POSITIVE_INFINITY
  }

  end(): void {
    this.#until = performance.now() + RECOVERY_MS
  }

  /** Since when changes may not have been noticed, if that was so at this time. */
  sinceWhen(time: number): number | undefined {
    return time <= this.#until ? this.#since : undefined
  }
}
