/** The CPU time that a group may use, or leave unused, without the end of a test. */
export const MAX_SILENCE_MS = 120_000

/** Between notices of a silence. */
export const NOTICE_INTERVAL_MS = 15_000

/**
 * The least share of the clock that counts: on a machine that has no CPU time for the group, one that hangs ends after
 * forty minutes.
 */
const MIN_SHARE = 1 / 20

export interface Sample {
  /** Milliseconds of the clock. */
  nowMs: number
  /** The CPU time of the group. */
  cpuMs: number
  /** The idle time of all cores. */
  idleMs: number
}

/**
 * How long a group of tests has been silent, in the CPU time that it used or could have used: a machine that is busy
 * with something else makes it slow, not silent.
 */
export class Silence {
  readonly #maxMs: number
  #last: Sample
  #ms = 0
  #notices = 0

  constructor(first: Sample, maxMs = MAX_SILENCE_MS) {
    this.#last = first
    this.#maxMs = maxMs
  }

  /** A test has ended. */
  end(): void {
    this.#ms = 0
    this.#notices = 0
  }

  /** Adds the time since the last sample; returns whether the group has been silent for too long. */
  isTooLong(sample: Sample): boolean {
    const elapsedMs = sample.nowMs - this.#last.nowMs
    const availableMs = sample.cpuMs - this.#last.cpuMs + (sample.idleMs - this.#last.idleMs)
    this.#ms += Math.min(elapsedMs, Math.max(availableMs, elapsedMs * MIN_SHARE))
    this.#last = sample
    return this.#ms >= this.#maxMs
  }

  /** The silence in milliseconds, once for each interval of notices; otherwise undefined. */
  takeNotice(): number | undefined {
    const notices = Math.floor(this.#ms / NOTICE_INTERVAL_MS)
    if (notices <= this.#notices) return undefined
    this.#notices = notices
    return notices * NOTICE_INTERVAL_MS
  }
}
