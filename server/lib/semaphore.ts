import { Semaphore as BoundedSemaphore, type Overload } from '../../packages/http-server/semaphore.ts'
import { ApiError } from './errors.ts'

/** A semaphore with a bounded queue; more work is rejected with UNAVAILABLE. */
export class Semaphore extends BoundedSemaphore {
  constructor(limits: { running: number; waiting: number }) {
    super(limits, overloaded)
  }
}

/** The error for work beyond a limit. Clients cause it, so that it is not logged. */
export class OverloadError extends ApiError implements Overload {
  override readonly status = 503
  readonly isOverload = true

  constructor() {
    super('UNAVAILABLE', 'The server is busy. Try again shortly.', { retryAfterSeconds: 1, isIsolated: true })
  }
}

export function overloaded(): OverloadError {
  return new OverloadError()
}

/** A bound of memory that work waits for, in the order of its requests. */
export class ByteSemaphore {
  readonly #limit: number
  readonly #queue: { bytes: number; resolve: () => void }[] = []
  #usedBytes = 0

  constructor(limit: number) {
    this.#limit = limit
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
