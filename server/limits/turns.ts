import { Failure } from '../failure.ts'

/** Lets so much work run at once and so much wait; more is turned away with UNAVAILABLE. */
export class Turns {
  readonly #running: number
  readonly #waiting: number
  readonly #line: (() => void)[] = []
  #busy = 0

  constructor({ running, waiting }: { running: number; waiting: number }) {
    this.#running = running
    this.#waiting = waiting
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#busy < this.#running) this.#busy++
    else await this.#wait()
    try {
      return await work()
    } finally {
      const next = this.#line.shift()
      if (next) next()
      else this.#busy--
    }
  }

  #wait(): Promise<void> {
    if (this.#line.length >= this.#waiting) {
      throw busy()
    }
    return new Promise((resolve) => this.#line.push(resolve))
  }
}

/** What somebody is told for whom there is no room now. */
export function busy(): Failure {
  return new Failure('UNAVAILABLE', 'The service is busy; try again shortly', { retryAfterSeconds: 1 })
}
