/** An error with a `status` refuses a request; any other one is a fault. */
export function isRefusal(error: unknown): boolean {
  return typeof (error as { status?: unknown } | undefined)?.status === 'number'
}

/** The error for work beyond a limit. Clients cause it, so that it is not logged. */
export interface Overload extends Error {
  readonly status: 503
  readonly isOverload: true
}

export function isOverload(error: unknown): boolean {
  return (error as Partial<Overload> | undefined)?.isOverload === true
}

/** A semaphore with a bounded queue; more work is rejected with an `Overload`. */
export class Semaphore {
  readonly #maxRunning: number
  readonly #maxWaiting: number
  readonly #makeOverload: () => Error
  readonly #queue: (() => void)[] = []
  #active = 0

  constructor({ running, waiting }: { running: number; waiting: number }, makeOverload = overload) {
    this.#maxRunning = running
    this.#maxWaiting = waiting
    this.#makeOverload = makeOverload
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
    if (this.#queue.length >= this.#maxWaiting) throw this.#makeOverload()
    return new Promise((resolve) => this.#queue.push(resolve))
  }
}

function overload(): Overload {
  return Object.assign(new Error('the server is busy'), { status: 503, isOverload: true } as const)
}
