import type { Send } from '../../client/sdk/slipway.ts'
import type { Random } from '../support/random.ts'

/** Bytes on their way that count as one step. */
const STEP_BYTES = 4096

/** Turns of the event loop between the last step and the instant: a finer measure than steps are. */
const MAX_ROUNDS = 60

/**
 * A point in the work of clients: after so many steps, where a step is a request, an answer, or 4 KB on their way.
 */
export class KillPoint {
  readonly reached: Promise<void>
  readonly #come: () => void
  #stepsLeft: number
  readonly #turns: number

  constructor(mostSteps: number, random: Random) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.reached = promise
    this.#come = resolve
    this.#stepsLeft = random.between(1, mostSteps)
    this.#turns = random.below(MAX_ROUNDS)
  }

  /** A transport that takes these steps. */
  counting(send: Send): Send {
    return async (request) => {
      const bytes =
        request.body instanceof Uint8Array || typeof request.body === 'string' ? request.body.length : 0
      this.#step(1 + Math.floor(bytes / STEP_BYTES))
      const answer = await send(request)
      this.#step(1)
      return answer
    }
  }

  #step(steps: number): void {
    const before = this.#stepsLeft
    this.#stepsLeft -= steps
    if (before > 0 && this.#stepsLeft <= 0) this.#turn(this.#turns)
  }

  #turn(left: number): void {
    if (left === 0) this.#come()
    else setImmediate(() => this.#turn(left - 1))
  }
}
