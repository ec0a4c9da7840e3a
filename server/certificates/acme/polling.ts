import { AcmeError } from './acme.ts'
import type { Deadline } from './deadline.ts'
import { parseRetryAfter } from './retry-after.ts'
import type { HttpResponse } from './transport.ts'

/** Initial interval between two polls in milliseconds when the CA sends none, and its growth. */
const INITIAL_DELAY_MS = 250
const MAX_DELAY_MS = 5000
const BACKOFF_FACTOR = 1.6

/** Maximum number of consecutive polls that may fail because the CA is unreachable. */
const MAX_CONSECUTIVE_FAILURES = 3

/**
 * Polls until `check` returns a value. While there is none, `check` returns undefined and the response, which
 * may carry Retry-After.
 */
export async function poll<T>(
  check: () => Promise<{ found: T | undefined; reply: HttpResponse }>,
  { deadline, clock }: { deadline: Deadline; clock: () => number },
): Promise<T> {
  let failures = 0
  for (let wait = INITIAL_DELAY_MS; ; wait = Math.min(wait * BACKOFF_FACTOR, MAX_DELAY_MS)) {
    let asked: number | undefined
    try {
      const { found: result, reply } = await check()
      if (result !== undefined) return result
      failures = 0
      asked = parseRetryAfter(reply.headers['retry-after'], clock())
    } catch (error) {
      if (!isTransient(error) || ++failures === MAX_CONSECUTIVE_FAILURES) throw error
    }
    await deadline.pause(Math.max(asked ?? wait, INITIAL_DELAY_MS), clock())
  }
}

function isTransient(error: unknown): boolean {
  return error instanceof AcmeError && error.kind === 'away' && error.notBefore === undefined
}
