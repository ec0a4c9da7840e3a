import { AcmeError } from './acme.ts'

/** The remaining time of a call in milliseconds, independent of the system clock. */
export class Deadline {
  readonly #limit: number
  readonly #pause: (ms: number) => Promise<void>
  #start = performance.now()
  #paused = 0

  constructor(limit: number, pause: (ms: number) => Promise<void>) {
    this.#limit = limit
    this.#pause = pause
  }

  /** Time-out of one request: the remaining time, at most `most`. */
  atMost(most: number): number {
    const left = this.#remaining()
    if (left <= 0) throw timeoutError()
    return Math.ceil(Math.min(left, most))
  }

  /** Waits, or ends the call when the wait would exceed the remaining time. `now` is used for `notBefore`. */
  async pause(ms: number, now: number): Promise<void> {
    if (ms >= this.#remaining()) throw timeoutError(now + ms)
    this.#paused += ms
    await this.#pause(ms)
  }

  /** Runs `work` without charging its time to the deadline. */
  async excluding<T>(work: () => Promise<T>): Promise<T> {
    const start = performance.now()
    try {
      return await work()
    } finally {
      this.#start += performance.now() - start
    }
  }

  #remaining(): number {
    return this.#limit - Math.max(this.#paused, performance.now() - this.#start)
  }
}

function timeoutError(notBefore?: number): AcmeError {
  const sentence = 'The certificate authority takes its time; it is asked again later'
  return new AcmeError('slow', sentence, { notBefore })
}
