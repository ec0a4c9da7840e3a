/** Bytes per second that a client has to keep up while the service waits for it. */
const MIN_BYTES_PER_SECOND = 1024

/** Seconds between two looks; see `Http2Lane`. */
export const LOOK_SECONDS = 5

interface WaitingState {
  /** The number of the current look. */
  look: number
  /** Looks over which the rate is measured. */
  period: number
  /** Whether the service waits for the client now. */
  isWaiting: boolean
}

/** Measures whether a client keeps up the minimum rate, so that a byte now and then does not hold a place for hours. */
export class Progress {
  #since: number
  #bytes = 0

  constructor(look: number) {
    this.#since = look
  }

  add(bytes: number): void {
    this.#bytes += bytes
  }

  /** Called at each look: true when the service waited for the client during a whole period and too little moved. */
  isTooSlow({ look, period, isWaiting }: WaitingState): boolean {
    if (isWaiting && look - this.#since < period) return false
    const isSlow = isWaiting && this.#bytes < period * LOOK_SECONDS * MIN_BYTES_PER_SECOND
    this.#since = look
    this.#bytes = 0
    return isSlow
  }
}
