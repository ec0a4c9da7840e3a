import { CHECK_INTERVAL_SECONDS } from '../connection-pool.ts'

/** Minimum rate of a client while the service waits for it. */
const MIN_BYTES_PER_SECOND = 1024

interface WaitingState {
  tick: number
  /** Idle checks over which the rate is measured. */
  period: number
  isWaiting: boolean
}

/** Measures the rate of a client, so that a byte from time to time cannot hold a slot for hours. */
export class Progress {
  #since: number
  #bytes = 0

  constructor(tick: number) {
    this.#since = tick
  }

  add(bytes: number): void {
    this.#bytes += bytes
  }

  /** True when the service waited for the client during a whole period, at less than the minimum rate. */
  isTooSlow({ tick, period, isWaiting }: WaitingState): boolean {
    if (isWaiting && tick - this.#since < period) return false
    const isSlow = isWaiting && this.#bytes < period * CHECK_INTERVAL_SECONDS * MIN_BYTES_PER_SECOND
    this.#since = tick
    this.#bytes = 0
    return isSlow
  }
}
