import { isSlipwayError, type SlipwayError } from './slipway-error.ts'

/** Clock and randomness of retries; tests replace them. */
export interface RetryPolicy {
  /**
   * Resolves after `milliseconds` or later: a page may wait here until it is online again. Rejects with the
   * signal's reason when it aborts first.
   */
  wait(milliseconds: number, signal?: AbortSignal): Promise<void>
  /** A number in [0, 1). */
  random(): number
  /** Milliseconds since the epoch. */
  now(): number
  /**
   * Maximum number of attempts of an upload; a page that continues after hours offline passes `Infinity`.
   * Default 6.
   */
  maxAttempts?: number
}

export interface RetryOptions {
  policy: RetryPolicy
  /** Default 6. */
  maxAttempts?: number | undefined
  /** Codes of other errors that are repeated, as often as a 500. */
  repeated?: readonly string[] | undefined
  signal?: AbortSignal | undefined
  /** Called with the reason when an attempt will be repeated. */
  onRetry?: ((reason: SlipwayError) => void) | undefined
}

const DEFAULT_MAX_ATTEMPTS = 6
const INITIAL_DELAY_MS = 500
const MAX_DELAY_MS = 8_000
/** Maximum Retry-After that is followed. */
const MAX_RETRY_AFTER_MS = 60_000

export const defaultRetryPolicy: RetryPolicy = {
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
 * Repeats idempotent work up to a number of attempts: after a network error or a retryable response,
 * with exponential back-off and jitter, or after Retry-After. Other errors pass through, and so does the
 * sixth 5xx of the server, however often network errors are retried.
 */
export async function withRetry<T>(
  work: () => Promise<T>,
  { policy, maxAttempts = DEFAULT_MAX_ATTEMPTS, repeated = [], signal, onRetry }: RetryOptions,
): Promise<T> {
  let serverFaults = 0
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      const isRepeated = isSlipwayError(error) && repeated.includes(error.code)
      const pause = isRepeated || isTransient(error) ? retryDelay(error, attempt, policy.random()) : undefined
      if (isRepeated || isServerFault(error)) serverFaults++
      if (attempt >= maxAttempts || serverFaults >= DEFAULT_MAX_ATTEMPTS || pause === undefined) throw error
      onRetry?.(error as SlipwayError)
      await policy.wait(pause, signal)
    }
  }
}

/** Delay after this failure in milliseconds, or undefined when it is final. */
function retryDelay(error: SlipwayError, attempt: number, random: number): number | undefined {
  const requestedMs = (error.retryAfterSeconds ?? 0) * 1000
  if (requestedMs > MAX_RETRY_AFTER_MS) return undefined
  const doubled = Math.min(INITIAL_DELAY_MS * 2 ** (attempt - 1), MAX_DELAY_MS)
  return Math.max(requestedMs, doubled * (0.5 + random / 2))
}

const TRANSIENT_STATUS = new Set([408, 425, 429, 500, 502, 503, 504])

function isServerFault(error: unknown): boolean {
  return isSlipwayError(error) && error.status === 500
}

/** Whether waiting may help: also for what another program or a proxy causes, which `withRetry` does not repeat. */
export function mayPass(error: unknown): error is SlipwayError {
  return isTransient(error) || isSlipwayError(error, 'BAD_ANSWER', 'INSUFFICIENT_STORAGE', 'UPLOAD_EXPIRED')
}

/** Whether the same request may succeed soon, although nothing else changes. */
export function isTransient(error: unknown): error is SlipwayError {
  return isSlipwayError(error) && (error.code === 'NETWORK' || TRANSIENT_STATUS.has(error.status))
}
