import { CHECK_INTERVAL_SECONDS } from '../connection-pool.ts'

/** Bytes per second that a client has to keep up while the service waits for it. */
const MIN_BYTES_PER_SECOND = 1024

interface WaitingState {
  /** The number of the current idle check. */
  tick: number
  /** Idle checks over which the rate is measured. */
  period: number
  /** Whether the service waits for the client now. */
  isWaiting: boolean
}

/** Measures whether a client keeps up the minimum rate, so that a byte now and then does not hold a place for hours. */
export class Progress {
  #since: number
  #bytes = 0

  constructor(tick: number) {
    this.#since = tick
  }

  add(bytes: number): void {
    this.#bytes += bytes
  }

  /** Called at each idle check: true when the service waited for the client during a whole period and too little moved. */
  isTooSlow({ tick, period, isWaiting }: WaitingState): boolean {
    if (isWaiting && tick - this.#since < period) return false
    const isSlow = isWaiting && this.#bytes < period * CHECK_INTERVAL_SECONDS * MIN_BYTES_PER_SECOND
    this.#since = tick
    this.#bytes = 0
    return isSlow
  }
}
