import type { CertificateSummary } from '../../store/queries/certificates.ts'
import type { CertificateRow } from '../../store/schema.ts'
import { AcmeFailure } from '../acme/acme.ts'
import { ProofFailure } from './proofs.ts'
import { isHopeless, retryTime, spread } from './renewal.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Tries after which an order that does not get on is left for a new one. */
const TRIES_OF_AN_ORDER = 3

/** The longest that a name waits because the CA said so: the longest window of its limits. */
const LONGEST_WAIT = 7 * DAY

/** What follows when a name did not get its certificate. */
export interface Setback {
  change: Pick<CertificateRow, 'problem' | 'due_at'> & Partial<CertificateRow>
  /** Whether the CA counts a validation that failed. */
  counts: boolean
  /** Until when the CA wants to hear nothing of any name. */
  pauseUntil?: number
}

const NO_ORDER = { order_url: null, order_key: null } as const

/** How things stood when something went wrong. */
export interface Standing {
  row: CertificateSummary
  now: number
  /** Whether the CA has last done something for some name. */
  caIsThere: boolean
}

/** Decides by what went wrong. */
export function setbackOf(error: unknown, { row, now, caIsThere }: Standing): Setback {
  const problem = problemOf(error)
  if (!(error instanceof AcmeFailure)) return failure({ row, problem, now, keepsOrder: true })
  switch (error.trouble) {
    case 'away':
      // Not there for this name only, and not for the first time.
      if (caIsThere && row.problem !== null) return failure({ row, problem, now, keepsOrder: true })
      return { change: { problem, due_at: soon(row.name, now) }, counts: false }
    case 'limited':
      return limit(error, row, now)
    case 'slow':
      return failure({ row, problem, now, keepsOrder: true })
    case 'failed':
      return { ...failure({ row, problem, now, mayEnd: true }), counts: true }
    case 'refused':
      return failure({ row, problem, now, mayEnd: error.type === 'rejectedIdentifier' })
  }
}

/** For the owner of the name. What is no failure of the CA or of a proof is for the log alone. */
function problemOf(error: unknown): string {
  if (error instanceof AcmeFailure || error instanceof ProofFailure) return error.message
  return 'Something went wrong in this service; it tries again by itself'
}

interface Failed {
  row: CertificateSummary
  problem: string
  now: number
  keepsOrder?: boolean
  mayEnd?: boolean
}

function failure({ row, problem, now, keepsOrder = false, mayEnd = false }: Failed): Setback {
  const failures = row.failures + 1
  const order = keepsOrder && failures % TRIES_OF_AN_ORDER !== 0 ? {} : NO_ORDER
  if (mayEnd && isHopeless(failures, row.not_after, now)) {
    const last = `${problem.replace(/\.$/, '')}. After a week it is not tried any more until the domain is active anew`
    return { change: { ...order, failures, problem: last, due_at: null }, counts: false }
  }
  const due_at = retryTime(failures, row.not_after, row.name, now)
  return { change: { ...order, failures, problem, due_at }, counts: false }
}

function limit(error: AcmeFailure, row: CertificateSummary, now: number): Setback {
  const wanted = error.notBefore ?? now + HOUR
  const until = Math.max(now + MINUTE, Math.min(wanted, now + LONGEST_WAIT))
  const setback = { change: { problem: error.message, due_at: until }, counts: false }
  return isAboutName(error.message, row.name) ? setback : { ...setback, pauseUntil: until }
}

/**
 * Whether a limit is that of a name, its domain or a set of names: others must not wait because of it, since whoever has a
 * domain can use up its limits elsewhere. CAs tell them apart in words only.
 */
function isAboutName(sentence: string, name: string): boolean {
  const words = sentence.toLowerCase()
  const labels = name.replace('*.', '').split('.')
  const domains = labels.slice(0, -1).map((_, index) => labels.slice(index).join('.'))
  return words.includes('exact set') || domains.some((domain) => words.includes(domain))
}

function soon(name: string, now: number): number {
  return Math.round(now + (3 + 2 * spread(name, `${now}`)) * MINUTE)
}
