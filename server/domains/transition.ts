import { formatUtc } from '../lib/time.ts'
import type { DomainRow, HeldDomainRow } from '../store/schema.ts'
import { type CheckResult, type CheckVerdict, hasProof } from './dns-check.ts'
import {
  GRACE_PERIOD_MS,
  MIN_CONFIRMATION_GAP_MS,
  nextActiveCheck,
  nextConfirmation,
  nextFailingCheck,
  nextPendingCheck,
  nextUnclearCheck,
} from './schedule.ts'

/** The facts by which a check is judged; times in milliseconds since 1970. */
interface TransitionContext {
  /** Start of the check. */
  began: number
  now: number
  /** The check took long. */
  slow: boolean
  /** The row of another account that has the name. */
  currentOwner: DomainRow | undefined
  /** The name is reserved for another account. */
  reservation: HeldDomainRow | undefined
  random: () => number
}

/** The change that a check makes to a row. */
interface Transition {
  nextStatus: 'pending' | 'active'
  changes: Partial<DomainRow>
}

/** The result of a check (contract, "Domains"): a pure function from facts to a change. */
export function nextState(row: DomainRow, result: CheckResult, context: TransitionContext): Transition {
  const { slow } = context
  const checked = {
    found: JSON.stringify(result.found),
    checked_at: context.now,
    slow: slow ? 1 : 0,
  } as const
  const { nextStatus, changes } =
    row.status === 'active' ? nextActiveState(row, result, context) : nextPendingState(row, result, context)
  return { nextStatus, changes: { ...changes, ...checked } }
}

/** The columns of a row that becomes pending now. */
export function startWaiting(now: number, reason: string): Partial<DomainRow> {
  return {
    status: 'pending',
    reason,
    verified_at: null,
    pending_since: now,
    proven_since: null,
    failing_since: null,
    next_check_at: nextPendingCheck(now, now),
  }
}

function nextPendingState(row: DomainRow, result: CheckResult, context: TransitionContext): Transition {
  const { began, now, slow, currentOwner, reservation, random } = context
  const isUnclear = [result.pointing, result.text].some((verdict) => verdict.is === 'unclear')
  const pending_since = row.pending_since ?? row.created_at
  const next = nextPendingCheck(pending_since, now, isUnclear || slow)
  const stays = (change: Partial<DomainRow>): Transition => ({
    nextStatus: 'pending',
    changes: { pending_since, next_check_at: next, ...change },
  })
  const taken =
    currentOwner && hasProof(result.texts, currentOwner.proof) ? takenMessage(row.domain) : undefined
  const problems = [taken, verdictMessage(result.pointing), verdictMessage(result.text)].filter(
    (message) => message !== undefined,
  )
  const reserved = reservation && reservedMessage(row.domain, reservation)
  if (problems.length > 0) {
    const reason = [...problems, ...(reserved ? [reserved] : [])].join('; ')
    return stays({ proven_since: null, reason })
  }

  const since = row.proven_since ?? now
  if (reservation)
    return stays({
      proven_since: since,
      reason: `Both records are there, but ${reserved}`,
      next_check_at: earlierOf(next, reservation.until),
    })
  if (began - since < MIN_CONFIRMATION_GAP_MS)
    return stays({ proven_since: since, reason: FIRST_CHECK_PASSED, next_check_at: nextConfirmation(since) })
  return { nextStatus: 'active', changes: startActive(now, random) }
}

function startActive(now: number, random: () => number): Partial<DomainRow> {
  return {
    status: 'active',
    reason: null,
    verified_at: now,
    pending_since: null,
    failing_since: null,
    next_check_at: nextActiveCheck(now, random),
  }
}

/** A missing TXT record alone ends nothing, but the DNS owner may then give the name to another account. */
function nextActiveState(
  row: DomainRow,
  result: CheckResult,
  { now, random }: TransitionContext,
): Transition {
  const { pointing } = result
  const stays = (changes: Partial<DomainRow>): Transition => ({ nextStatus: 'active', changes })
  if (pointing.is === 'there') {
    const reason =
      result.text.is === 'missing'
        ? `${result.text.message}; without it, another account can take the name over`
        : null
    return stays({ failing_since: null, reason, next_check_at: nextActiveCheck(now, random) })
  }
  if (pointing.is === 'unclear' && pointing.isOurFault)
    return stays({ failing_since: null, reason: pointing.message, next_check_at: nextUnclearCheck(now) })
  const since = row.failing_since ?? now
  if (now - since >= GRACE_PERIOD_MS)
    return { nextStatus: 'pending', changes: startWaiting(now, pointing.message) }
  const end = `if that is still so at ${formatUtc(since + GRACE_PERIOD_MS)}, it is no longer served`
  return stays({
    failing_since: since,
    reason: `${pointing.message}; ${end}`,
    next_check_at: nextFailingCheck(since, now),
  })
}

const FIRST_CHECK_PASSED = 'Both records are there; it becomes active when they are seen once more'

function takenMessage(domain: string): string {
  return `${domain} is active for another account whose TXT record is still there: remove that record, so that only yours is left`
}

function reservedMessage(domain: string, { until }: HeldDomainRow): string {
  return `${domain} was removed from another account and is kept for that one: here it can become active from ${formatUtc(until)} on`
}

function verdictMessage(verdict: CheckVerdict): string | undefined {
  return verdict.is === 'there' ? undefined : verdict.message
}

function earlierOf(one: number | null, other: number): number {
  return one === null ? other : Math.min(one, other)
}
