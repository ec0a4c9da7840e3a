import { defaultRetryPolicy, type RetryPolicy } from '../../client/sdk/retry.ts'

/** Retries of a page: uploads continue whenever the network returns. */
export const networkRetryPolicy: RetryPolicy = {
  ...defaultRetryPolicy,
  maxAttempts: Number.POSITIVE_INFINITY,
  async wait(milliseconds, signal) {
    await defaultRetryPolicy.wait(milliseconds, signal)
    await waitUntilOnline(signal)
  },
}

/**
 * Milliseconds after which a page tries again that is offline: browsers say so of every computer without a network, also
 * where the service runs on it.
 */
const OFFLINE_RETRY_MS = 15_000

/**
 * Resolves when the browser is online, or after `OFFLINE_RETRY_MS`; rejects with the signal's reason when it aborts
 * first.
 */
function waitUntilOnline(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    if (navigator.onLine) return resolve()
    const listening = new AbortController()
    const timer = setTimeout(() => end(resolve), OFFLINE_RETRY_MS)
    addEventListener('online', () => end(resolve), listening)
    signal?.addEventListener('abort', () => end(() => reject(signal.reason)), listening)
    function end(settle: () => void) {
      listening.abort()
      clearTimeout(timer)
      settle()
    }
  })
}
