import { inParallel } from '../../blobs/in-parallel.ts'
import type { CertificateSummary } from '../../store/queries/certificates.ts'
import type { CertificateRow } from '../../store/schema.ts'
import type { Acme } from '../acme/acme.ts'
import type { IssuingParts } from './parts.ts'
import { informedPlan, type Life, nextOf, type RenewalPlan, uninformedPlan } from './renewal.ts'

const AT_ONCE = 10

type Plan = Pick<CertificateRow, 'renew_at' | 'information_at' | 'due_at' | 'informed'>

/**
 * Asks the CA about certificates, when it wants them renewed (RFC 9773, 4.2), and plans by what it says. A CA that has no such
 * information, or does not give it, leaves the rule without it.
 */
export async function askAbout(parts: IssuingParts, rows: readonly CertificateSummary[]): Promise<void> {
  if (rows.length === 0) return
  const { acme, clock, store, log } = parts
  const plans: [CertificateSummary, Plan][] = []
  let unanswered: { name: string; error: unknown } | undefined
  const ask = async (row: CertificateSummary) => {
    try {
      // One answer that does not come is enough to wait for in a turn.
      if (unanswered) throw unanswered.error
      plans.push([row, await planFor(row, acme, clock)])
    } catch (error) {
      unanswered ??= { name: row.name, error }
      plans.push([row, planned(uninformedPlan(lifeOf(row), row.renew_at, clock()), row.informed)])
    }
  }
  await ask(rows[0]!)
  await inParallel(AT_ONCE, rows.slice(1), ask)
  await store.write('soft', async (tx) => {
    for (const [row, plan] of plans) await tx.certificates.plan(row.name, row.certificate_id, plan)
  })
  if (unanswered) log.warn('the CA does not say when to renew', { ...unanswered })
}

async function planFor(row: CertificateSummary, acme: Acme, clock: () => number): Promise<Plan> {
  const life = lifeOf(row)
  const has = await acme.hasRenewalInformation()
  if (!has || row.certificate_id === null)
    return { ...planned(informedPlan(life, undefined, clock()), 0), ...notAsked(life, clock()) }
  const information = await acme.renewalInformation(row.certificate_id)
  return planned(informedPlan(life, information, clock()), information ? 1 : 0)
}

function planned(plan: RenewalPlan, informed: 0 | 1): Plan {
  return { renew_at: plan.renewAt, information_at: plan.informationAt, due_at: nextOf(plan), informed }
}

function notAsked(life: Life, now: number): Pick<Plan, 'information_at' | 'due_at'> {
  return { information_at: null, due_at: informedPlan(life, undefined, now).renewAt }
}

function lifeOf(row: CertificateSummary): Life {
  return {
    name: row.name,
    notBefore: row.not_before!,
    notAfter: row.not_after!,
    issuedAt: row.issued_at!,
  }
}
