interface Waiting {
  bytes: number
  resolve: () => void
}

/** A bound of memory that work waits for, in the order of its requests. */
export class ByteSemaphore {
  readonly #limit: number
  readonly #queue: Waiting[] = []
  #usedBytes = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  /** Resolves when `bytes` are free; they are until the result is disposed. More than the limit waits for all of it. */
  async acquire(bytes: number): Promise<Disposable> {
    const wanted = Math.min(bytes, this.#limit)
    if (this.#queue.length > 0 || this.#usedBytes + wanted > this.#limit)
      await new Promise<void>((resolve) => this.#queue.push({ bytes: wanted, resolve }))
    else this.#usedBytes += wanted
    return { [Symbol.dispose]: () => this.#release(wanted) }
  }

  #release(bytes: number): void {
    this.#usedBytes -= bytes
    for (
      let next = this.#queue[0];
      next && this.#usedBytes + next.bytes <= this.#limit;
      next = this.#queue[0]
    ) {
      this.#queue.shift()
      this.#usedBytes += next.bytes
      next.resolve()
    }
  }
}
