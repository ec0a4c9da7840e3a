import type {
  DomainCertificate,
  DomainDnsRecord,
  DomainRecord,
} from '../../../protocol/api/domains.schema.ts'
import { toSentence } from '../../../protocol/format.ts'
import { formatTable } from '../terminal/table.ts'
import { formatLocalDate, formatLocalTime } from '../terminal/time.ts'

/** One line per domain, for a list. */
export function formatDomainList(found: readonly DomainRecord[], now: number): string[] {
  const head = ['DOMAIN', 'SITE', 'STATUS', 'CERTIFICATE', 'NOTE']
  const rows = found.map((record) => [
    record.domain,
    record.siteSlug,
    record.status,
    certificateStatus(record.certificate, now),
    formatStatus(record),
  ])
  return formatTable([head, ...rows])
}

/** The DNS records to enter, in the form of DNS providers. */
export function formatDnsEntries(records: readonly DomainDnsRecord[]): string[] {
  return formatTable([
    ['TYPE', 'NAME', 'VALUE'],
    ...records.map(({ type, name, value }) => [type, name, value]),
  ])
}

/** Everything known about a domain: actual and required records, why it is pending, its certificate. */
export function formatFindings(record: DomainRecord, now: number): string[] {
  const { domain, siteSlug, status, redirectsTo, records, reason, checkedAt, nextCheckAt } = record
  const shows = redirectsTo === null ? `shows ${siteSlug}` : `redirects to ${redirectsTo}`
  return [
    status === 'active'
      ? `${domain} is active and ${shows}`
      : `${domain} is pending. Once active, it ${shows}.`,
    '',
    ...records.flatMap(formatLookup),
    '',
    ...(reason === null ? [] : [toSentence(reason)]),
    ...(checkedAt === null ? [] : [`Last check: ${formatLocalTime(checkedAt, now)}`]),
    ...(nextCheckAt === null ? [] : [`Next check: ${formatLocalTime(nextCheckAt, now)}`]),
    ...formatCertificate(record, now),
  ]
}

/** "CNAME www" */
export function formatRecordName({ type, name }: DomainDnsRecord): string {
  return `${type} ${name}`
}

/** What DNS returns: "nothing", or the values. */
export function formatFound({ found }: DomainDnsRecord): string {
  if (found === null) return 'unknown'
  return found.length === 0 ? 'nothing' : found.join(', ')
}

function formatLookup(record: DomainDnsRecord): string[] {
  const mark = record.right === null ? '?' : record.right ? '✓' : '✗'
  if (record.right) return [`${mark} ${formatRecordName(record)}: ${formatFound(record)}`]
  return [
    `${mark} ${formatRecordName(record)}`,
    `    found:    ${formatFound(record)}`,
    `    expected: ${record.value}`,
  ]
}

function formatCertificate({ status, certificate }: DomainRecord, now: number): string[] {
  const { renewsAt, problem } = certificate
  if (certificate.status === 'none')
    return status === 'active' ? ['Certificate: not issued by this service'] : []
  const isValid = certificate.status === 'active'
  const state = isValid ? `valid ${certificateStatus(certificate, now)}` : certificateStatus(certificate, now)
  const lines = [`Certificate: ${state}${isValid ? formatRenewal(renewsAt, now) : ''}`]
  if (problem !== null) lines.push(`    ${problem}`)
  if (!isValid && renewsAt !== null) lines.push(`    next attempt: ${formatLocalTime(renewsAt, now)}`)
  return lines
}

function formatRenewal(renewsAt: string | null, now: number): string {
  return renewsAt === null ? '' : `, renewed around ${formatLocalDate(renewsAt, now)}`
}

function certificateStatus({ status, expiresAt }: DomainCertificate, now: number): string {
  if (status === 'none') return '–'
  if (expiresAt === null) return 'being issued'
  return `${status === 'active' ? 'until' : 'expired'} ${formatLocalDate(expiresAt, now)}`
}

/** A short status; `check` prints the details. */
function formatStatus({
  status,
  records,
  checkedAt,
  redirectsTo,
  reason,
  certificate,
}: DomainRecord): string {
  const missing = records.filter(({ right }) => !right).map(formatRecordName)
  if (status === 'pending' && checkedAt !== null && missing.length > 0)
    return `waiting for ${missing.join(' and ')}`
  const leads = redirectsTo === null ? undefined : `redirects to ${redirectsTo}`
  return reason ?? certificate.problem ?? leads ?? ''
}
