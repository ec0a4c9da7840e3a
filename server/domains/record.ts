import type { DomainCertificate, DomainRecord } from '../../protocol/api/domains.ts'
import { formatUtc, toIso, toIsoOrNull } from '../lib/time.ts'
import type { DomainRow } from '../store/schema.ts'
import type { DnsFindings } from './dns-check.ts'
import { splitName, wwwCounterpart } from './name.ts'

interface RecordContext {
  proxyHost: string
  /** All names of the account. */
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

/** A domain as the API shows it (contract, "Domains"). */
export async function toDomainRecord(
  row: DomainRow,
  { proxyHost, own, certificates }: RecordContext,
): Promise<DomainRecord> {
  const { label } = await splitName(row.domain)
  const found = row.found === null ? undefined : (JSON.parse(row.found) as DnsFindings)
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
        name: label ? `_slipway.${label}` : '_slipway',
        value: row.proof,
        found: found?.texts ?? null,
        right: found?.right.text ?? null,
      },
    ],
    reason: formatReason(row),
    redirectsTo: row.primary_domain,
    alternate: counterpart !== null && !own.has(counterpart) ? counterpart : null,
    certificate: (row.status === 'active' && certificates.get(row.domain)) || NO_CERTIFICATE,
    createdAt: toIso(row.created_at),
    verifiedAt: toIsoOrNull(row.verified_at),
    checkedAt: toIsoOrNull(row.checked_at),
    nextCheckAt: toIsoOrNull(row.next_check_at),
  }
}

/** The problem, and the time of the next check. */
function formatReason({ status, reason, next_check_at }: DomainRow): string | null {
  if (reason === null && status === 'active') return null
  const message = reason ?? 'Waiting for both DNS records to be entered'
  if (next_check_at !== null) return `${message}. It is looked up again at ${formatUtc(next_check_at)}.`
  return `${message}. It has waited so long that it is no longer looked up by itself: check it once more when the records are there.`
}
