import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../lib/time.ts'
import type { Domain } from '../store/tables/domains.ts'

const PENDING_INTERVALS_MS: readonly [under: number, every: number][] = [
  [10 * MINUTE_MS, 10 * SECOND_MS],
  [HOUR_MS, MINUTE_MS],
  [6 * HOUR_MS, 5 * MINUTE_MS],
  [48 * HOUR_MS, 30 * MINUTE_MS],
  [9 * DAY_MS, DAY_MS],
]

const ACTIVE_INTERVAL_MS = 12 * HOUR_MS
const JITTER = 0.1

/** Two checks at least this far apart must find both records. */
export const MIN_CONFIRMATION_GAP_MS = 3 * SECOND_MS
const CONFIRMATION_DELAY_MS = 4 * SECOND_MS

/** An active name becomes pending after it has failed for this time. */
export const GRACE_PERIOD_MS = DAY_MS
/** Follows the message about a domain that fails, in the reason that is stored. */
export const UNLESS = '. Unless this is corrected by '

export const RESERVATION_MS = 7 * DAY_MS

export const MIN_CHECK_INTERVAL_MS = 3 * SECOND_MS

/** Names with slow or silent DNS servers do not delay other names. */
const SLOW_INTERVAL_MS = MINUTE_MS

const WATCHED_INTERVAL_MS = 10 * SECOND_MS

/** At growing intervals; null when the name has been pending too long. `slowly`: DNS was slow or failed. */
export function nextPendingCheck(since: number, now: number, slowly = false): number | null {
  const age = now - since
  const step = PENDING_INTERVALS_MS.find(([under]) => age < under)
  return step ? now + Math.max(step[1], slowly ? SLOW_INTERVAL_MS : 0) : null
}

/** As planned or sooner; never when the name is not pending. */
export function nextWatchedCheck(
  { status, checkedAt, nextCheckAt, isSlow }: Pick<Domain, 'status' | 'checkedAt' | 'nextCheckAt' | 'isSlow'>,
  now: number,
): number {
  if (status !== 'pending') return Number.POSITIVE_INFINITY
  if (checkedAt === null) return now
  return Math.min(
    nextCheckAt ?? Number.POSITIVE_INFINITY,
    checkedAt + (isSlow ? SLOW_INTERVAL_MS : WATCHED_INTERVAL_MS),
  )
}

/** After the owner requested a check of an expired name: daily for two days. */
export function restartedAt(now: number): number {
  return now - 7 * DAY_MS
}

export function nextConfirmation(since: number): number {
  return since + CONFIRMATION_DELAY_MS
}

export function nextActiveCheck(now: number, random: () => number): number {
  return Math.round(now + ACTIVE_INTERVAL_MS * (1 + JITTER * (2 * random() - 1)))
}

export function nextFailingCheck(since: number, now: number): number {
  return Math.min(now + HOUR_MS, Math.max(since + GRACE_PERIOD_MS, now + MINUTE_MS))
}

export function nextUnclearCheck(now: number): number {
  return now + HOUR_MS
}
