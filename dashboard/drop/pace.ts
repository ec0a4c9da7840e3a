import type { Progress } from '../../client/sdk/slipway.ts'

/** Milliseconds before which nobody can tell. */
const FIRST_LOOK = 1500

/** How fast something goes, for saying how long it still takes. */
export class Pace {
  readonly #began = performance.now()

  /** Undefined while it is too early to say. */
  secondsLeft({ bytes, bytesDone }: Progress, now: number): number | undefined {
    const elapsed = now - this.#began
    if (elapsed < FIRST_LOOK || bytesDone <= 0) return undefined
    return ((bytes - bytesDone) / bytesDone) * (elapsed / 1000)
  }
}
