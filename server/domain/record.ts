import type { DomainCertificate, DomainRecord } from '../../client/wire.ts'
import type { DomainRow } from '../store/schema.ts'
import { inWords, iso, isoOrNull } from '../time.ts'
import { counterpartOf, partsOf } from './name.ts'
import type { Found } from './proof.ts'

interface Around {
  proxyHost: string
  /** Every name of the account. */
  own: ReadonlySet<string>
  /** Of the names that are active, where there is HTTPS. */
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
export async function recordOf(
  row: DomainRow,
  { proxyHost, own, certificates }: Around,
): Promise<DomainRecord> {
  const { label } = await partsOf(row.domain)
  const found = row.found === null ? undefined : (JSON.parse(row.found) as Found)
  const counterpart = await counterpartOf(row.domain)
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
    reason: reasonOf(row),
    redirectsTo: row.primary_domain,
    alternate: counterpart !== null && !own.has(counterpart) ? counterpart : null,
    certificate: (row.status === 'active' && certificates.get(row.domain)) || NO_CERTIFICATE,
    createdAt: iso(row.created_at),
    verifiedAt: isoOrNull(row.verified_at),
    checkedAt: isoOrNull(row.checked_at),
    nextCheckAt: isoOrNull(row.next_check_at),
  }
}

/** What is wrong, and when somebody looks whether it still is. */
function reasonOf({ status, reason, next_check_at }: DomainRow): string | null {
  if (reason === null && status === 'active') return null
  const words = reason ?? 'Waiting for both DNS records to be entered'
  if (next_check_at !== null) return `${words}. It is looked up again at ${inWords(next_check_at)}.`
  return `${words}. It has waited so long that it is no longer looked up by itself: check it once more when the records are there.`
}
