/** Milliseconds of work after which to yield: input that waits for 50 ms is noticed as late. */
const MAX_BLOCK_MS = 16

/** Splits long work into tasks, between which the page handles input. */
export class Pacer {
  #since = 0

  /** Yields when the current task has worked for long enough. */
  async pause(): Promise<void> {
    if (performance.now() - this.#since < MAX_BLOCK_MS) return
    await new Promise((resolve) => setTimeout(resolve))
    this.#since = performance.now()
  }
}
