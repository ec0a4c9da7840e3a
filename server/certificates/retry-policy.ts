import type { CertificateSummary } from '../store/queries/certificates.ts'
import type { CertificateRow } from '../store/schema.ts'
import { AcmeError } from './acme/acme.ts'
import { ChallengeError } from './challenge-solver.ts'
import { hashFraction, isTerminal, retryTime } from './renewal.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Attempts after which a stalled order is replaced by a new one. */
const MAX_TRIES_PER_ORDER = 3

/** Maximum wait that the CA can impose on a name: the longest window of its limits. */
const MAX_WAIT_MS = 7 * DAY_MS

/** The consequence of a failed attempt. */
export interface RetryPlan {
  changes: Pick<CertificateRow, 'problem' | 'due_at'> & Partial<CertificateRow>
  /** Whether the CA counts it as a failed validation. */
  countsAsFailure: boolean
  /** End of a pause for all names. */
  pauseUntil?: number
}

const NO_ORDER = { order_url: null, order_key: null } as const

/** The state when the error occurred. */
export interface RetryInput {
  row: CertificateSummary
  now: number
  /** Whether the CA last succeeded for any name. */
  caIsReachable: boolean
}

/** Decides by the error. */
export function nextRetry(error: unknown, { row, now, caIsReachable }: RetryInput): RetryPlan {
  const problem = formatProblem(error)
  if (!(error instanceof AcmeError)) return planAfterFailure({ row, problem, now, keepsOrder: true })
  switch (error.kind) {
    case 'away':
      // The CA is unreachable for this name only, repeatedly.
      if (caIsReachable && row.problem !== null)
        return planAfterFailure({ row, problem, now, keepsOrder: true })
      return { changes: { problem, due_at: planSoon(row.name, now) }, countsAsFailure: false }
    case 'limited':
      return planAfterRateLimit(error, row, now)
    case 'slow':
      return planAfterFailure({ row, problem, now, keepsOrder: true })
    case 'failed':
      return { ...planAfterFailure({ row, problem, now, mayEnd: true }), countsAsFailure: true }
    case 'refused':
      return planAfterFailure({ row, problem, now, mayEnd: error.type === 'rejectedIdentifier' })
  }
}

/** Message for the owner of the name. Other errors are only logged. */
function formatProblem(error: unknown): string {
  if (error instanceof AcmeError || error instanceof ChallengeError) return error.message
  return 'Something went wrong in this service; it tries again by itself'
}

interface FailedAttempt {
  row: CertificateSummary
  problem: string
  now: number
  keepsOrder?: boolean
  mayEnd?: boolean
}

function planAfterFailure({
  row,
  problem,
  now,
  keepsOrder = false,
  mayEnd = false,
}: FailedAttempt): RetryPlan {
  const failures = row.failures + 1
  const order = keepsOrder && failures % MAX_TRIES_PER_ORDER !== 0 ? {} : NO_ORDER
  if (mayEnd && isTerminal(failures, row.not_after, now)) {
    const last = `${problem.replace(/\.$/, '')}. After a week it is not tried any more until the domain is active anew`
    return { changes: { ...order, failures, problem: last, due_at: null }, countsAsFailure: false }
  }
  const due_at = retryTime(failures, row.not_after, row.name, now)
  return { changes: { ...order, failures, problem, due_at }, countsAsFailure: false }
}

function planAfterRateLimit(error: AcmeError, row: CertificateSummary, now: number): RetryPlan {
  const wanted = error.notBefore ?? now + HOUR_MS
  const until = Math.max(now + MINUTE_MS, Math.min(wanted, now + MAX_WAIT_MS))
  const setback = { changes: { problem: error.message, due_at: until }, countsAsFailure: false }
  return isAboutName(error.message, row.name) ? setback : { ...setback, pauseUntil: until }
}

/**
 * Whether a limit concerns a name, its domain or a set of names. Other names must not wait for it, because
 * the owner of a domain can use up its limits elsewhere. CAs distinguish them only in the message.
 */
function isAboutName(sentence: string, name: string): boolean {
  const words = sentence.toLowerCase()
  const labels = name.replace('*.', '').split('.')
  const domains = labels.slice(0, -1).map((_, index) => labels.slice(index).join('.'))
  return words.includes('exact set') || domains.some((domain) => words.includes(domain))
}

function planSoon(name: string, now: number): number {
  return Math.round(now + (3 + 2 * hashFraction(name, `${now}`)) * MINUTE_MS)
}
