import { formatUtc } from '../lib/time.ts'
import type { Domain, DomainReservation } from '../store/tables/domains.ts'
import { type CheckResult, type CheckVerdict, hasProof } from './dns-check.ts'
import {
  GRACE_PERIOD_MS,
  MIN_CONFIRMATION_GAP_MS,
  nextActiveCheck,
  nextConfirmation,
  nextFailingCheck,
  nextPendingCheck,
  nextUnclearCheck,
  UNLESS,
} from './schedule.ts'

/** Times in milliseconds since 1970. */
interface TransitionContext {
  began: number
  now: number
  slow: boolean
  currentOwner: Domain | undefined
  reservation: DomainReservation | undefined
  random: () => number
}

interface Transition {
  nextStatus: 'pending' | 'active'
  changes: Partial<Domain>
}

/** Contract, "Domains": a pure function from facts to a change. */
export function nextState(row: Domain, result: CheckResult, context: TransitionContext): Transition {
  const { slow } = context
  const checked = { findings: result.found, checkedAt: context.now, isSlow: slow }
  const { nextStatus, changes } =
    row.status === 'active' ? nextActiveState(row, result, context) : nextPendingState(row, result, context)
  return { nextStatus, changes: { ...changes, ...checked } }
}

export function startWaiting(now: number, reason: string): Partial<Domain> {
  return {
    status: 'pending',
    reason,
    verifiedAt: null,
    pendingSince: now,
    provenSince: null,
    failingSince: null,
    nextCheckAt: nextPendingCheck(now, now),
  }
}

function nextPendingState(row: Domain, result: CheckResult, context: TransitionContext): Transition {
  const { began, now, slow, currentOwner, reservation, random } = context
  const isUnclear = [result.pointing, result.text].some((verdict) => verdict.is === 'unclear')
  const pendingSince = row.pendingSince ?? row.createdAt
  const next = nextPendingCheck(pendingSince, now, isUnclear || slow)
  const stays = (change: Partial<Domain>): Transition => ({
    nextStatus: 'pending',
    changes: { pendingSince, nextCheckAt: next, ...change },
  })
  const taken =
    currentOwner && hasProof(result.texts, currentOwner.verificationToken)
      ? `${row.domain} is active for another account, whose TXT record still exists. Delete that record and keep yours`
      : undefined
  const problems = [
    taken,
    verdictMessage(result.pointing),
    verdictMessage(result.text),
    result.caaProblem,
  ].filter((message) => message !== undefined)
  const reserved =
    reservation &&
    `${row.domain} was recently removed from another account and is reserved for it until ${formatUtc(reservation.until)}`
  if (problems.length > 0) {
    const reason = [...problems, ...(reserved ? [reserved] : [])].join('. ')
    return stays({ provenSince: null, reason })
  }

  const since = row.provenSince ?? now
  if (reservation)
    return stays({
      provenSince: since,
      reason: `Both records are correct, but ${reserved}`,
      nextCheckAt: Math.min(next ?? reservation.until, reservation.until),
    })
  if (began - since < MIN_CONFIRMATION_GAP_MS)
    return stays({ provenSince: since, reason: FIRST_CHECK_PASSED, nextCheckAt: nextConfirmation(since) })
  return { nextStatus: 'active', changes: startActive(now, random) }
}

function startActive(now: number, random: () => number): Partial<Domain> {
  return {
    status: 'active',
    reason: null,
    verifiedAt: now,
    pendingSince: null,
    failingSince: null,
    nextCheckAt: nextActiveCheck(now, random),
  }
}

/** A missing TXT record alone ends nothing, but the DNS owner may then give the name to another account. */
function nextActiveState(row: Domain, result: CheckResult, { now, random }: TransitionContext): Transition {
  const { pointing } = result
  const stays = (changes: Partial<Domain>): Transition => ({ nextStatus: 'active', changes })
  if (pointing.is === 'there') {
    const reasons = [
      ...(result.text.is === 'missing'
        ? [`${result.text.message}; without it, another account can take over the domain`]
        : []),
      ...(result.caaProblem ? [`${result.caaProblem}; until then, the certificate cannot be renewed`] : []),
    ]
    const reason = reasons.join('. ') || null
    return stays({ failingSince: null, reason, nextCheckAt: nextActiveCheck(now, random) })
  }
  if (pointing.is === 'unclear' && pointing.isOurFault)
    return stays({ reason: pointing.message, nextCheckAt: nextUnclearCheck(now) })
  const since = row.failingSince ?? now
  if (now - since >= GRACE_PERIOD_MS)
    return { nextStatus: 'pending', changes: startWaiting(now, pointing.message) }
  const end = `${UNLESS}${formatUtc(since + GRACE_PERIOD_MS)}, the domain stops showing the site`
  return stays({
    failingSince: since,
    reason: `${pointing.message}${end}`,
    nextCheckAt: nextFailingCheck(since, now),
  })
}

const FIRST_CHECK_PASSED = 'Both records are correct. The domain becomes active after one more check'

function verdictMessage(verdict: CheckVerdict): string | undefined {
  return verdict.is === 'there' ? undefined : verdict.message
}
