import type { DomainCertificate, DomainDnsRecord, DomainRecord } from '../../../protocol/api/domains.ts'
import { formatUtc } from '../../../protocol/format.ts'
import { formatTable } from '../terminal/table.ts'

/** One line per domain, for a list. */
export function formatDomainList(found: readonly DomainRecord[]): string[] {
  const head = ['DOMAIN', 'SITE', 'STATE', 'CERTIFICATE', 'REMARK']
  const rows = found.map((record) => [
    record.domain,
    record.siteSlug,
    record.status,
    certificateStatus(record.certificate),
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
export function formatFindings(record: DomainRecord): string[] {
  const { domain, siteSlug, status, redirectsTo, records, reason, checkedAt, nextCheckAt } = record
  const shows = redirectsTo === null ? `shows ${siteSlug}` : `leads to ${redirectsTo}`
  return [
    status === 'active' ? `${domain} is active and ${shows}` : `${domain} is pending; then it ${shows}`,
    '',
    ...records.flatMap(formatLookup),
    '',
    ...(reason === null ? [] : [toSentence(reason)]),
    ...(checkedAt === null ? [] : [`Looked up last: ${formatUtc(checkedAt)}`]),
    ...(nextCheckAt === null || reason?.includes('It is looked up again')
      ? []
      : [`Looked up next: ${formatUtc(nextCheckAt)}`]),
    ...formatCertificate(record),
  ]
}

/** "CNAME www" */
export function formatRecordName({ type, name }: DomainDnsRecord): string {
  return `${type} ${name}`
}

/** What DNS returns: "nothing", or the values. */
export function formatFound({ found }: DomainDnsRecord): string {
  if (found === null) return 'not known'
  return found.length === 0 ? 'nothing' : found.join(', ')
}

/** The DNS zone of the records: the name without the first record's label. */
export function toZone({ domain, records }: DomainRecord): string {
  const prefix = `${records[0]?.name}.`
  return domain.startsWith(prefix) ? domain.slice(prefix.length) : domain
}

/** The public URL, with the port of the server unless the protocol differs. */
export function domainUrl({ domain, certificate }: DomainRecord, server: string): string {
  const { protocol, port } = new URL(server)
  if (certificate.status === 'active' && protocol === 'http:') return `https://${domain}/`
  return `${protocol}//${domain}${port && `:${port}`}/`
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

function formatCertificate({ status, certificate }: DomainRecord): string[] {
  const { expiresAt, renewsAt, problem } = certificate
  if (certificate.status === 'none') return status === 'active' ? ['Certificate: not from this service'] : []
  const lines =
    expiresAt === null
      ? ['Certificate: on its way']
      : [
          `Certificate: until ${formatUtc(expiresAt)}${renewsAt ? `, renewed about ${formatUtc(renewsAt)}` : ''}`,
        ]
  if (problem !== null) lines.push(`    ${problem}`)
  if (expiresAt === null && renewsAt !== null) lines.push(`    tried again: ${formatUtc(renewsAt)}`)
  return lines
}

function certificateStatus({ status, expiresAt }: DomainCertificate): string {
  if (status === 'none') return '–'
  return expiresAt === null ? 'on its way' : `until ${expiresAt.slice(0, 10)}`
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
    return `waits for ${missing.join(' and ')}`
  const leads = redirectsTo === null ? undefined : `leads to ${redirectsTo}`
  return reason ?? certificate.problem ?? leads ?? ''
}

function toSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
