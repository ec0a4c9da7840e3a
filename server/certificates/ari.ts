import { type Acme, AcmeError } from '../../packages/acme-client/acme.ts'
import { forEachConcurrent } from '../lib/concurrency.ts'
import type { CertificateSchedule } from '../store/queries/certificates.ts'
import type { CertificateSummary } from '../store/tables/certificates.ts'
import type { IssuingDeps } from './deps.ts'
import {
  type AnyRenewalPlan,
  type CertificateLifetime,
  nextDueTime,
  planFromAri,
  planWithoutAri,
} from './schedule.ts'

const MAX_CONCURRENT_QUERIES = 10

/** RFC 9773, 4.2. Without a response the default rule applies. */
export async function refreshRenewalInfo(
  deps: IssuingDeps,
  certificates: readonly CertificateSummary[],
): Promise<void> {
  if (certificates.length === 0) return
  const { acme, clock, store, log } = deps
  const schedules: [CertificateSummary, CertificateSchedule][] = []
  let failed: { name: string; error: unknown } | undefined
  const query = async (certificate: CertificateSummary) => {
    try {
      // One time-out per run is enough.
      if (failed) throw failed.error
      schedules.push([certificate, await scheduleByAri(certificate, acme, clock)])
    } catch (error) {
      failed ??= { name: certificate.name, error }
      const plan = planWithoutAri(toLifetime(certificate), certificate.renewAt, clock(), error)
      schedules.push([certificate, toSchedule(plan, certificate.hasRenewalInfo)])
    }
  }
  await query(certificates[0]!)
  await forEachConcurrent(MAX_CONCURRENT_QUERIES, certificates.slice(1), query)
  await store.write('relaxed', { host: certificates.map(({ name }) => name) }, async (tx) => {
    for (const [certificate, schedule] of schedules)
      await tx.certificates.reschedule(certificate.name, certificate.certificateId, schedule)
  })
  if (failed) log.warn('renewal information is unavailable', { ...failed })
}

async function scheduleByAri(
  certificate: CertificateSummary,
  acme: Acme,
  clock: () => number,
): Promise<CertificateSchedule> {
  const life = toLifetime(certificate)
  const isSupported = await acme.supportsRenewalInfo()
  if (!isSupported || certificate.certificateId === null)
    return toSchedule({ ...planFromAri(life, undefined, clock()), informationAt: null }, false)
  const information = await acme.renewalInfo(certificate.certificateId).catch(undefinedIfRejected)
  return toSchedule(planFromAri(life, information, clock()), information !== undefined)
}

/** The CA has none for this certificate, such as one of another CA; that says nothing of others. */
function undefinedIfRejected(error: unknown): undefined {
  if (!(error instanceof AcmeError) || error.kind !== 'rejected') throw error
}

function toSchedule(plan: AnyRenewalPlan, hasRenewalInfo: boolean): CertificateSchedule {
  return { ...plan, dueAt: nextDueTime(plan), hasRenewalInfo }
}

function toLifetime(certificate: CertificateSummary): CertificateLifetime {
  return {
    name: certificate.name,
    notBefore: certificate.notBefore!,
    notAfter: certificate.notAfter!,
    issuedAt: certificate.issuedAt!,
  }
}
