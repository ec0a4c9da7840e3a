import type { DomainCertificate, DomainDnsRecord, DomainRecord } from '../../wire.ts'
import { moment, table } from '../../words.ts'

/** A line a domain, for a list. */
export function listing(found: readonly DomainRecord[]): string[] {
  const head = ['DOMAIN', 'SITE', 'STATE', 'CERTIFICATE', 'REMARK']
  const rows = found.map((record) => [
    record.domain,
    record.siteSlug,
    record.status,
    inShort(record.certificate),
    remark(record),
  ])
  return table([head, ...rows])
}

/** What to enter in DNS, as a form for it wants it. */
export function entries(records: readonly DomainDnsRecord[]): string[] {
  return table([['TYPE', 'NAME', 'VALUE'], ...records.map(({ type, name, value }) => [type, name, value])])
}

/** All that is known of a domain: each record as it is and as it should be, why it waits, its certificate. */
export function finding(record: DomainRecord): string[] {
  const { domain, siteSlug, status, redirectsTo, records, reason, checkedAt, nextCheckAt } = record
  const shows = redirectsTo === null ? `shows ${siteSlug}` : `leads to ${redirectsTo}`
  return [
    status === 'active' ? `${domain} is active and ${shows}` : `${domain} is pending; then it ${shows}`,
    '',
    ...records.flatMap(lookedUp),
    '',
    ...(reason === null ? [] : [sentence(reason)]),
    ...(checkedAt === null ? [] : [`Looked up last: ${moment(checkedAt)}`]),
    ...(nextCheckAt === null || reason?.includes('It is looked up again')
      ? []
      : [`Looked up next: ${moment(nextCheckAt)}`]),
    ...certified(record),
  ]
}

/** "CNAME www" */
export function nameOf({ type, name }: DomainDnsRecord): string {
  return `${type} ${name}`
}

/** What DNS answers: "nothing", or the values. */
export function answered({ found }: DomainDnsRecord): string {
  if (found === null) return 'not known'
  return found.length === 0 ? 'nothing' : found.join(', ')
}

/** The domain whose DNS the records are entered in: what is left of the name beyond the first record's. */
export function zoneOf({ domain, records }: DomainRecord): string {
  const prefix = `${records[0]?.name}.`
  return domain.startsWith(prefix) ? domain.slice(prefix.length) : domain
}

/** Where visitors find it, with the port of the server unless that is another protocol's. */
export function addressOf({ domain, certificate }: DomainRecord, server: string): string {
  const { protocol, port } = new URL(server)
  if (certificate.status === 'active' && protocol === 'http:') return `https://${domain}/`
  return `${protocol}//${domain}${port && `:${port}`}/`
}

function lookedUp(record: DomainDnsRecord): string[] {
  const mark = record.right === null ? '?' : record.right ? '✓' : '✗'
  if (record.right) return [`${mark} ${nameOf(record)}: ${answered(record)}`]
  return [`${mark} ${nameOf(record)}`, `    found:    ${answered(record)}`, `    expected: ${record.value}`]
}

function certified({ status, certificate }: DomainRecord): string[] {
  const { expiresAt, renewsAt, problem } = certificate
  if (certificate.status === 'none') return status === 'active' ? ['Certificate: not from this service'] : []
  const lines =
    expiresAt === null
      ? ['Certificate: on its way']
      : [`Certificate: until ${moment(expiresAt)}${renewsAt ? `, renewed about ${moment(renewsAt)}` : ''}`]
  if (problem !== null) lines.push(`    ${problem}`)
  if (expiresAt === null && renewsAt !== null) lines.push(`    tried again: ${moment(renewsAt)}`)
  return lines
}

function inShort({ status, expiresAt }: DomainCertificate): string {
  if (status === 'none') return '–'
  return expiresAt === null ? 'on its way' : `until ${expiresAt.slice(0, 10)}`
}

/** In short: what DNS answers and what it should is for `check` to tell. */
function remark({ status, records, checkedAt, redirectsTo, reason, certificate }: DomainRecord): string {
  const missing = records.filter(({ right }) => !right).map(nameOf)
  if (status === 'pending' && checkedAt !== null && missing.length > 0)
    return `waits for ${missing.join(' and ')}`
  const leads = redirectsTo === null ? undefined : `leads to ${redirectsTo}`
  return reason ?? certificate.problem ?? leads ?? ''
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
