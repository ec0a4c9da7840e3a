import { isSlipwayError, type SlipwayError } from './slipway-error.ts'

/** The clock and the dice of retrying, so that tests need neither. */
export interface Patience {
  /**
   * Resolves after so many milliseconds, or later: this is where a page may wait for its network to come back. Rejects
   * with the signal's reason when it aborts first.
   */
  wait(milliseconds: number, signal?: AbortSignal): Promise<void>
  /** A number from 0 up to 1. */
  random(): number
  /** Milliseconds since the epoch. */
  now(): number
  /** How often an upload is tried: a page that goes on after hours without a network says `Infinity`. Six times by default. */
  tries?: number
}

export interface Persistence {
  patience: Patience
  /** Six by default. */
  tries?: number | undefined
  signal?: AbortSignal | undefined
  /** Hears why a try failed that another one follows. */
  onRetry?: ((reason: SlipwayError) => void) | undefined
}

const TRIES = 6
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 8_000
/** A server that asks for more than this is not waited for. */
const LONGEST_ASKED_MS = 60_000

export const realPatience: Patience = {
  wait: (milliseconds, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const timer = setTimeout(done, milliseconds)
      signal?.addEventListener('abort', stopped)
      function done() {
        signal?.removeEventListener('abort', stopped)
        resolve()
      }
      function stopped() {
        clearTimeout(timer)
        reject(signal?.reason)
      }
    }),
  random: Math.random,
  now: Date.now,
}

/**
 * Does work that may safely be done twice, up to so many times: after a broken connection or an answer that
 * says "later", with pauses that double and vary, or as long as the server asks. Other failures pass through, and so does
 * the sixth fault of the server itself, however often a broken line is tried again.
 */
export async function persistently<T>(
  work: () => Promise<T>,
  { patience, tries = TRIES, signal, onRetry }: Persistence,
): Promise<T> {
  let faults = 0
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      const pause = pauseAfter(error, attempt, patience.random())
      if (isFault(error)) faults++
      if (attempt >= tries || faults >= TRIES || pause === undefined) throw error
      onRetry?.(error as SlipwayError)
      await patience.wait(pause, signal)
    }
  }
}

/** Milliseconds to wait after this failure, or undefined when another try makes no sense. */
function pauseAfter(error: unknown, attempt: number, dice: number): number | undefined {
  if (!isSlipwayError(error) || !isPassing(error.code, error.status)) return undefined
  const asked = (error.retryAfterSeconds ?? 0) * 1000
  if (asked > LONGEST_ASKED_MS) return undefined
  const doubled = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS)
  return Math.max(asked, doubled * (0.5 + dice / 2))
}

const PASSING_STATUS = new Set([408, 425, 429, 500, 502, 503, 504])

function isFault(error: unknown): boolean {
  return isSlipwayError(error) && error.status === 500
}

function isPassing(code: string, status: number): boolean {
  return code === 'NETWORK' || PASSING_STATUS.has(status)
}
