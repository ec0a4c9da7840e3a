import { AcmeFailure } from './acme.ts'

/** What is left of the time that a call may take, whatever the clock of the machine does. In milliseconds. */
export class Patience {
  readonly #limit: number
  readonly #pause: (ms: number) => Promise<void>
  #start = performance.now()
  #paused = 0

  constructor(limit: number, pause: (ms: number) => Promise<void>) {
    this.#limit = limit
    this.#pause = pause
  }

  /** How long one request may take that should not take longer than `most`. */
  upTo(most: number): number {
    const left = this.#left()
    if (left <= 0) throw slow()
    return Math.ceil(Math.min(left, most))
  }

  /** Waits, unless that would take longer than what is left: then the call is over. `now` is for `notBefore`. */
  async pause(ms: number, now: number): Promise<void> {
    if (ms >= this.#left()) throw slow(now + ms)
    this.#paused += ms
    await this.#pause(ms)
  }

  /** What is not up to the CA takes nothing of what is left. */
  async beside<T>(work: () => Promise<T>): Promise<T> {
    const start = performance.now()
    try {
      return await work()
    } finally {
      this.#start += performance.now() - start
    }
  }

  #left(): number {
    return this.#limit - Math.max(this.#paused, performance.now() - this.#start)
  }
}

function slow(notBefore?: number): AcmeFailure {
  const sentence = 'The certificate authority takes its time; it is asked again later'
  return new AcmeFailure('slow', sentence, { notBefore })
}
