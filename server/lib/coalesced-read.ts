/** Minimum time between the beginnings of two reads. */
const INTERVAL_MS = 50

/**
 * A read that many callers share: each receives the result of one that began after its call, and there are at most 20
 * a second, one at a time, whatever the number of callers.
 */
export class CoalescedRead<T> {
  readonly #read: () => Promise<T>
  /** Ends when the next read may begin. */
  #pause: Promise<unknown> = Promise.resolve()
  #next: Promise<T> | undefined

  constructor(read: () => Promise<T>) {
    this.#read = read
  }

  run(): Promise<T> {
    this.#next ??= this.#pause.then(() => {
      this.#next = undefined
      const result = this.#read()
      this.#pause = Promise.allSettled([result, new Promise((resolve) => setTimeout(resolve, INTERVAL_MS))])
      return result
    })
    return this.#next
  }
}
