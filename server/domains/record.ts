import type { DomainCertificate, DomainRecord } from '../../protocol/api/domains.schema.ts'
import { toIso, toIsoOrNull } from '../lib/time.ts'
import type { Domain } from '../store/tables/domains.ts'
import { proofEntry, splitName, wwwCounterpart } from './name.ts'

interface RecordContext {
  proxyHost: string
  own: ReadonlySet<string>
  /** Certificates of active names, when HTTPS is enabled. */
  certificates: ReadonlyMap<string, DomainCertificate>
}

const NO_CERTIFICATE: DomainCertificate = {
  status: 'none',
  issuedAt: null,
  expiresAt: null,
  renewsAt: null,
  problem: null,
}

/** Contract, "Domains". */
export async function toDomainRecord(
  row: Domain,
  { proxyHost, own, certificates }: RecordContext,
): Promise<DomainRecord> {
  const { label } = await splitName(row.domain)
  const found = row.findings
  const counterpart = await wwwCounterpart(row.domain)
  return {
    domain: row.domain,
    siteSlug: row.slug,
    status: row.status,
    records: [
      {
        type: label ? 'CNAME' : 'ALIAS',
        name: label || '@',
        value: proxyHost,
        found: found?.pointing ?? null,
        right: found?.right.pointing ?? null,
      },
      {
        type: 'TXT',
        name: proofEntry(label),
        value: row.verificationToken,
        found: found?.texts ?? null,
        right: found?.right.text ?? null,
      },
    ],
    reason: formatReason(row),
    redirectsTo: row.primaryDomain,
    alternate: counterpart !== null && !own.has(counterpart) ? counterpart : null,
    certificate: (row.status === 'active' && certificates.get(row.domain)) || NO_CERTIFICATE,
    createdAt: toIso(row.createdAt),
    verifiedAt: toIsoOrNull(row.verifiedAt),
    checkedAt: toIsoOrNull(row.checkedAt),
    nextCheckAt: toIsoOrNull(row.nextCheckAt),
  }
}

function formatReason({ status, reason, nextCheckAt }: Domain): string | null {
  if (reason === null && status === 'active') return null
  const message = reason ?? 'Waiting for both DNS records'
  if (nextCheckAt !== null) return `${message}.`
  return `${message}. Automatic checks have stopped: check again after you add the records.`
}
