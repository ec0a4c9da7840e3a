import { type Patience, realPatience } from '../../client/sdk/retry.ts'

/** The patience of a page: however long the network is away, uploads go on when it is back. */
export const networkPatience: Patience = {
  ...realPatience,
  tries: Number.POSITIVE_INFINITY,
  async wait(milliseconds, signal) {
    await realPatience.wait(milliseconds, signal)
    await online(signal)
  },
}

/** Resolves when the browser believes to have a network; rejects with the signal's reason when it aborts first. */
function online(signal: AbortSignal | undefined): Promise<void> {
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
