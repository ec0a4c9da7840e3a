import { AcmeFailure } from './acme.ts'
import type { Patience } from './patience.ts'
import { retryAfter } from './retry-after.ts'
import type { Reply } from './transport.ts'

/** Milliseconds between two looks when the CA does not say, and how that grows. */
const FIRST = 250
const LONGEST = 5000
const GROWTH = 1.6

/** Looks in a row that may fail because the CA is away for a moment. */
const MOST_FAILURES = 3

/**
 * Looks again and again until there is an answer. `look` answers undefined and its reply, which may say when to come
 * back, as long as there is none.
 */
export async function poll<T>(
  look: () => Promise<{ found: T | undefined; reply: Reply }>,
  { patience, clock }: { patience: Patience; clock: () => number },
): Promise<T> {
  let failures = 0
  for (let wait = FIRST; ; wait = Math.min(wait * GROWTH, LONGEST)) {
    let asked: number | undefined
    try {
      const { found, reply } = await look()
      if (found !== undefined) return found
      failures = 0
      asked = retryAfter(reply.headers['retry-after'], clock())
    } catch (error) {
      if (!passes(error) || ++failures === MOST_FAILURES) throw error
    }
    await patience.pause(Math.max(asked ?? wait, FIRST), clock())
  }
}

function passes(error: unknown): boolean {
  return error instanceof AcmeFailure && error.trouble === 'away' && error.notBefore === undefined
}
