import type { DomainRow, HeldDomainRow } from '../store/schema.ts'
import { inWords } from '../time.ts'
import { holds, type Look, type Verdict } from './proof.ts'
import {
  activeLook,
  failingLook,
  GRACE,
  PROOFS_APART,
  pendingLook,
  secondProof,
  unclearLook,
} from './schedule.ts'

/** What a look has to be judged with; times in milliseconds since 1970. */
export interface Circumstances {
  /** When the look began. */
  began: number
  now: number
  /** The look took long. */
  slow: boolean
  /** The row of another account that has the name. */
  rival: DomainRow | undefined
  /** The name is kept for another account. */
  hold: HeldDomainRow | undefined
  random: () => number
}

/** What a look makes of a row. */
export interface Outcome {
  becomes: 'pending' | 'active'
  change: Partial<DomainRow>
}

/** What follows from a look at a name (contract, "Domains"): only facts in, only the change out. */
export function outcomeOf(row: DomainRow, look: Look, circumstances: Circumstances): Outcome {
  const { slow } = circumstances
  const seen = {
    found: JSON.stringify(look.found),
    checked_at: circumstances.now,
    slow: slow ? 1 : 0,
  } as const
  const { becomes, change } =
    row.status === 'active' ? whileActive(row, look, circumstances) : whilePending(row, look, circumstances)
  return { becomes, change: { ...change, ...seen } }
}

/** The columns of a row that waits for its proofs from now on. */
export function waiting(now: number, reason: string): Partial<DomainRow> {
  return {
    status: 'pending',
    reason,
    verified_at: null,
    pending_since: now,
    proven_since: null,
    failing_since: null,
    next_check_at: pendingLook(now, now),
  }
}

function whilePending(row: DomainRow, look: Look, circumstances: Circumstances): Outcome {
  const { began, now, slow, rival, hold, random } = circumstances
  const isUnclear = [look.pointing, look.text].some((verdict) => verdict.is === 'unclear')
  // A clock that was put back must not make it wait, or be looked up often, until the time comes round again.
  const pending_since = Math.min(row.pending_since ?? row.created_at, now)
  const next = pendingLook(pending_since, now, isUnclear || slow)
  const stays = (change: Partial<DomainRow>): Outcome => ({
    becomes: 'pending',
    change: { pending_since, next_check_at: next, ...change },
  })
  const taken = rival && holds(look.texts, rival.proof) ? takenBy(row.domain) : undefined
  const wrong = [taken, wordsOf(look.pointing), wordsOf(look.text)].filter((words) => words !== undefined)
  const kept = hold && keptUntil(row.domain, hold)
  if (wrong.length > 0) {
    const reason = [...wrong, ...(kept ? [kept] : [])].join('; ')
    return stays({ proven_since: null, reason })
  }

  const since = row.proven_since === null || row.proven_since > now ? now : row.proven_since
  if (hold)
    return stays({
      proven_since: since,
      reason: `Both records are there, but ${kept}`,
      next_check_at: earlier(next, hold.until),
    })
  if (began - since < PROOFS_APART)
    return stays({ proven_since: since, reason: PROVEN_ONCE, next_check_at: secondProof(since) })
  return { becomes: 'active', change: active(now, random) }
}

function active(now: number, random: () => number): Partial<DomainRow> {
  return {
    status: 'active',
    reason: null,
    verified_at: now,
    pending_since: null,
    failing_since: null,
    next_check_at: activeLook(now, random),
  }
}

/** A missing TXT record alone ends nothing, but whoever controls the DNS may give the name away then. */
function whileActive(row: DomainRow, look: Look, { now, random }: Circumstances): Outcome {
  const { pointing } = look
  const stays = (change: Partial<DomainRow>): Outcome => ({ becomes: 'active', change })
  if (pointing.is === 'there') {
    const reason =
      look.text.is === 'missing'
        ? `${look.text.words}; without it, another account can take the name over`
        : null
    return stays({ failing_since: null, reason, next_check_at: activeLook(now, random) })
  }
  if (pointing.is === 'unclear' && pointing.ours)
    return stays({ failing_since: null, reason: pointing.words, next_check_at: unclearLook(now) })
  const since = Math.min(row.failing_since ?? now, now)
  if (now - since >= GRACE) return { becomes: 'pending', change: waiting(now, pointing.words) }
  const end = `if that is still so at ${inWords(since + GRACE)}, it is no longer served`
  return stays({
    failing_since: since,
    reason: `${pointing.words}; ${end}`,
    next_check_at: failingLook(since, now),
  })
}

const PROVEN_ONCE = 'Both records are there; it becomes active when they are seen once more'

function takenBy(domain: string): string {
  return `${domain} is active for another account whose TXT record is still there: remove that record, so that only yours is left`
}

function keptUntil(domain: string, { until }: HeldDomainRow): string {
  return `${domain} was removed from another account and is kept for that one: here it can become active from ${inWords(until)} on`
}

function wordsOf(verdict: Verdict): string | undefined {
  return verdict.is === 'there' ? undefined : verdict.words
}

function earlier(one: number | null, other: number): number {
  return one === null ? other : Math.min(one, other)
}
