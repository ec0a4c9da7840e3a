import { setTimeout as pause } from 'node:timers/promises'
import { ApiError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'

/** The pause between two attempts doubles from the first to the second value; half of it to all of it is waited. */
const MIN_PAUSE_MS = 100
const MAX_PAUSE_MS = 5000

const LOG_INTERVAL_MS = 30_000

/** Repeats `open` for any time: a fleet may start before its database. `signal` ends it with an AbortError. */
export async function waitForDatabase<T>(
  open: () => Promise<T>,
  { log, signal }: { log: Pick<Log, 'warn' | 'info'>; signal?: AbortSignal | undefined },
): Promise<T> {
  let loggedAt = Number.NEGATIVE_INFINITY
  for (let pauseMs = MIN_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    try {
      const opened = await open()
      if (loggedAt > 0) log.info('the database is reachable again: starting')
      return opened
    } catch (error) {
      if (!isTemporary(error)) throw error
      if (performance.now() - loggedAt >= LOG_INTERVAL_MS) {
        loggedAt = performance.now()
        log.warn('the database is unreachable: the start waits for it', { reason: findReason(error) })
      }
    }
    await pause(pauseMs * (0.5 + Math.random() / 2), undefined, { signal })
  }
}

/** A schema that this release cannot use does not say when to try again. */
function isTemporary(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'UNAVAILABLE' && error.retryAfterSeconds !== undefined
}

/** Such as "connect ECONNREFUSED 192.0.2.1:5432". */
export function findReason(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return findReason(error.errors[0])
  const { cause, message } = error as Error
  return cause === undefined ? message : findReason(cause)
}
