import type { Send } from '../../client/sdk/slipway.ts'
import type { Random } from '../support/random.ts'

/** Request body bytes that count as one step. */
const STEP_BYTES = 4096

/** Event loop turns between the last step and the kill point, for a finer resolution than steps. */
const MAX_TURNS = 60

/**
 * A random point in the work of clients, in steps: a request, a response and each 4 KiB of a request body are one step.
 */
export class KillPoint {
  readonly reached: Promise<void>
  readonly #resolve: () => void
  #stepsLeft: number
  readonly #turns: number

  constructor(maxSteps: number, random: Random) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.reached = promise
    this.#resolve = resolve
    this.#stepsLeft = random.between(1, maxSteps)
    this.#turns = random.below(MAX_TURNS)
  }

  /** Wraps a transport so that its requests and responses count as steps. */
  countSteps(send: Send): Send {
    return async (request) => {
      const bytes =
        request.body instanceof Uint8Array || typeof request.body === 'string' ? request.body.length : 0
      this.#step(1 + Math.floor(bytes / STEP_BYTES))
      const response = await send(request)
      this.#step(1)
      return response
    }
  }

  #step(steps: number): void {
    const before = this.#stepsLeft
    this.#stepsLeft -= steps
    if (before > 0 && this.#stepsLeft <= 0) this.#waitTurns(this.#turns)
  }

  #waitTurns(left: number): void {
    if (left === 0) this.#resolve()
    else setImmediate(() => this.#waitTurns(left - 1))
  }
}
