import type { Progress } from '../../client/sdk/slipway.ts'

/** Milliseconds before the first estimate. */
const MIN_SAMPLE_MS = 1500

/** Estimates the remaining time. */
export class EtaEstimator {
  readonly #began = performance.now()

  /** Undefined while it is too early. */
  secondsLeft({ bytes, bytesDone }: Progress, now: number): number | undefined {
    const elapsed = now - this.#began
    if (elapsed < MIN_SAMPLE_MS || bytesDone <= 0) return undefined
    return ((bytes - bytesDone) / bytesDone) * (elapsed / 1000)
  }
}
