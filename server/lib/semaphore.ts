import { ApiError } from './errors.ts'

/** A semaphore with a bounded queue; more work is rejected with UNAVAILABLE. */
export class Semaphore {
  readonly #maxRunning: number
  readonly #maxWaiting: number
  readonly #queue: (() => void)[] = []
  #active = 0

  constructor({ running, waiting }: { running: number; waiting: number }) {
    this.#maxRunning = running
    this.#maxWaiting = waiting
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#active < this.#maxRunning) this.#active++
    else await this.#wait()
    try {
      return await work()
    } finally {
      const next = this.#queue.shift()
      if (next) next()
      else this.#active--
    }
  }

  #wait(): Promise<void> {
    if (this.#queue.length >= this.#maxWaiting) {
      throw overloaded()
    }
    return new Promise((resolve) => this.#queue.push(resolve))
  }
}

/** The error for work beyond a limit. Clients cause it, so that it is not logged. */
export class OverloadError extends ApiError {
  constructor() {
    super('UNAVAILABLE', 'The server is busy. Try again shortly.', { retryAfterSeconds: 1, isIsolated: true })
  }
}

export function overloaded(): ApiError {
  return new OverloadError()
}
