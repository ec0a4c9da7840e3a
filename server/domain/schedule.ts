import type { DomainRow } from '../store/schema.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** How often a name is looked up that waits for its proofs, by how long it waits. */
const PENDING: readonly [under: number, every: number][] = [
  [10 * MINUTE, 10 * SECOND],
  [HOUR, MINUTE],
  [6 * HOUR, 5 * MINUTE],
  [48 * HOUR, 30 * MINUTE],
  [9 * DAY, DAY],
]

const ACTIVE = 12 * HOUR
const JITTER = 0.1

/** Two looks at least this far apart have to see both proofs. */
export const PROOFS_APART = 3 * SECOND
const SECOND_PROOF = 4 * SECOND

/** How long an active name may fail to point here before it is pending again. */
export const GRACE = DAY

/** How long a deleted name is kept for its account. */
export const HOLD = 7 * DAY

/** Whoever asks for a name gets a look at most this often. */
export const ASKED_APART = 3 * SECOND

/** A name that DNS is slow about, or silent, has to leave room for others. */
const SLOWLY = MINUTE

/** How often a pending name is looked up while its owner watches. */
const WATCHED = 10 * SECOND

/** Later than any look is planned for by a clock that is right. */
export const BEYOND = 2 * DAY

/**
 * When a pending name is looked up after `now`: often at first, then less; null when it has waited too long. `slowly` says
 * that DNS was slow to answer or could not say.
 */
export function pendingLook(since: number, now: number, slowly = false): number | null {
  const age = now - since
  const step = PENDING.find(([under]) => age < under)
  return step ? now + Math.max(step[1], slowly ? SLOWLY : 0) : null
}

/** When a pending name is looked up while its owner watches: as planned, or sooner; never when it is not pending. */
export function soonerLook(
  {
    status,
    checked_at,
    next_check_at,
    slow,
  }: Pick<DomainRow, 'status' | 'checked_at' | 'next_check_at' | 'slow'>,
  now: number,
): number {
  if (status !== 'pending') return Number.POSITIVE_INFINITY
  // What was looked up in the future was so before the clock was put back.
  if (checked_at === null || checked_at > now) return now
  return Math.min(next_check_at ?? Number.POSITIVE_INFINITY, checked_at + (slow === 1 ? SLOWLY : WATCHED))
}

/** Since when a name that is no longer looked up waits once its owner has asked for it: daily for two days. */
export function revived(now: number): number {
  return now - 7 * DAY
}

/** When a name is looked up again whose proofs were first seen at `since`. */
export function secondProof(since: number): number {
  return since + SECOND_PROOF
}

/** When an active name is looked up after `now`: every twelve hours, give or take, so that they do not come all at once. */
export function activeLook(now: number, random: () => number): number {
  return Math.round(now + ACTIVE * (1 + JITTER * (2 * random() - 1)))
}

/** When an active name is looked up again that has failed since then: every hour, and when its grace is over. */
export function failingLook(since: number, now: number): number {
  return Math.min(now + HOUR, Math.max(since + GRACE, now + MINUTE))
}

/** When an active name is looked up again of which nobody can say now whether it points here. */
export function unclearLook(now: number): number {
  return now + HOUR
}
