import { forEachConcurrent } from '../lib/concurrency.ts'
import type { CertificateSummary } from '../store/queries/certificates.ts'
import type { CertificateRow } from '../store/schema.ts'
import type { Acme } from './acme/acme.ts'
import type { IssuingDeps } from './deps.ts'
import {
  type CertificateLifetime,
  nextDueTime,
  planFromAri,
  planWithoutAri,
  type RenewalPlan,
} from './renewal.ts'

const MAX_CONCURRENT_QUERIES = 10

type AriPlan = Pick<CertificateRow, 'renew_at' | 'information_at' | 'due_at' | 'informed'>

/**
 * Requests renewal information for certificates (RFC 9773, 4.2) and plans accordingly. Without a response the
 * default rule applies.
 */
export async function refreshRenewalInfo(
  parts: IssuingDeps,
  rows: readonly CertificateSummary[],
): Promise<void> {
  if (rows.length === 0) return
  const { acme, clock, store, log } = parts
  const plans: [CertificateSummary, AriPlan][] = []
  let unanswered: { name: string; error: unknown } | undefined
  const ask = async (row: CertificateSummary) => {
    try {
      // One time-out per run is enough.
      if (unanswered) throw unanswered.error
      plans.push([row, await planFor(row, acme, clock)])
    } catch (error) {
      unanswered ??= { name: row.name, error }
      plans.push([row, toAriPlan(planWithoutAri(toLifetime(row), row.renew_at, clock()), row.informed)])
    }
  }
  await ask(rows[0]!)
  await forEachConcurrent(MAX_CONCURRENT_QUERIES, rows.slice(1), ask)
  await store.write('soft', async (tx) => {
    for (const [row, plan] of plans) await tx.certificates.plan(row.name, row.certificate_id, plan)
  })
  if (unanswered) log.warn('renewal information is unavailable', { ...unanswered })
}

async function planFor(row: CertificateSummary, acme: Acme, clock: () => number): Promise<AriPlan> {
  const life = toLifetime(row)
  const has = await acme.hasRenewalInformation()
  if (!has || row.certificate_id === null)
    return { ...toAriPlan(planFromAri(life, undefined, clock()), 0), ...planNextQuery(life, clock()) }
  const information = await acme.renewalInformation(row.certificate_id)
  return toAriPlan(planFromAri(life, information, clock()), information ? 1 : 0)
}

function toAriPlan(plan: RenewalPlan, informed: 0 | 1): AriPlan {
  return { renew_at: plan.renewAt, information_at: plan.informationAt, due_at: nextDueTime(plan), informed }
}

function planNextQuery(life: CertificateLifetime, now: number): Pick<AriPlan, 'information_at' | 'due_at'> {
  return { information_at: null, due_at: planFromAri(life, undefined, now).renewAt }
}

function toLifetime(row: CertificateSummary): CertificateLifetime {
  return {
    name: row.name,
    notBefore: row.not_before!,
    notAfter: row.not_after!,
    issuedAt: row.issued_at!,
  }
}
