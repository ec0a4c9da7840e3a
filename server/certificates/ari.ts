import { forEachConcurrent } from '../lib/concurrency.ts'
import type { CertificateSummary } from '../store/queries/certificates.ts'
import type { CertificateRow } from '../store/schema.ts'
import type { Acme } from './acme/acme.ts'
import type { IssuingDeps } from './deps.ts'
import {
  type AnyRenewalPlan,
  type CertificateLifetime,
  nextDueTime,
  planFromAri,
  planWithoutAri,
} from './schedule.ts'

const MAX_CONCURRENT_QUERIES = 10

type AriPlan = Pick<CertificateRow, 'renew_at' | 'information_at' | 'due_at' | 'informed'>

/**
 * Requests renewal information for certificates (RFC 9773, 4.2) and plans accordingly. Without a response the
 * default rule applies.
 */
export async function refreshRenewalInfo(
  deps: IssuingDeps,
  rows: readonly CertificateSummary[],
): Promise<void> {
  if (rows.length === 0) return
  const { acme, clock, store, log } = deps
  const plans: [CertificateSummary, AriPlan][] = []
  let failed: { name: string; error: unknown } | undefined
  const query = async (row: CertificateSummary) => {
    try {
      // One time-out per run is enough.
      if (failed) throw failed.error
      plans.push([row, await planFor(row, acme, clock)])
    } catch (error) {
      failed ??= { name: row.name, error }
      plans.push([row, toAriPlan(planWithoutAri(toLifetime(row), row.renew_at, clock()), row.informed)])
    }
  }
  await query(rows[0]!)
  await forEachConcurrent(MAX_CONCURRENT_QUERIES, rows.slice(1), query)
  await store.write('relaxed', async (tx) => {
    for (const [row, plan] of plans) await tx.certificates.plan(row.name, row.certificate_id, plan)
  })
  if (failed) log.warn('renewal information is unavailable', { ...failed })
}

async function planFor(row: CertificateSummary, acme: Acme, clock: () => number): Promise<AriPlan> {
  const life = toLifetime(row)
  const isSupported = await acme.supportsRenewalInfo()
  if (!isSupported || row.certificate_id === null)
    return toAriPlan({ ...planFromAri(life, undefined, clock()), informationAt: null }, 0)
  const information = await acme.renewalInfo(row.certificate_id)
  return toAriPlan(planFromAri(life, information, clock()), information ? 1 : 0)
}

function toAriPlan(plan: AnyRenewalPlan, informed: 0 | 1): AriPlan {
  return { renew_at: plan.renewAt, information_at: plan.informationAt, due_at: nextDueTime(plan), informed }
}

function toLifetime(row: CertificateSummary): CertificateLifetime {
  return {
    name: row.name,
    notBefore: row.not_before!,
    notAfter: row.not_after!,
    issuedAt: row.issued_at!,
  }
}
