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

/** Resolves when the browser is online; rejects with the signal's reason when it aborts first. */
function waitUntilOnline(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    if (navigator.onLine) return resolve()
    const listening = new AbortController()
    addEventListener('online', () => end(resolve), listening)
    signal?.addEventListener('abort', () => end(() => reject(signal.reason)), listening)
    function end(settle: () => void) {
      listening.abort()
      settle()
    }
  })
}
