import type { DomainDnsRecord, DomainRecord } from '../../client/wire.ts'
import { settings } from '../api/settings.ts'

/** How DNS stands to a record that has to be entered. */
export type Standing = 'unasked' | 'unknown' | 'missing' | 'wrong' | 'right'

export function standingOf({ found, right }: DomainDnsRecord, { checkedAt }: DomainRecord): Standing {
  if (checkedAt === null) return 'unasked'
  if (right) return 'right'
  if (right === null) return 'unknown'
  return found?.length ? 'wrong' : 'missing'
}

/** Whether nothing more is to come: visitors get the site by it, by HTTPS where the service has that. */
export function isSettled({ status, reason, certificate }: DomainRecord): boolean {
  return (
    status === 'active' && reason === null && certificate.status !== 'pending' && certificate.problem === null
  )
}

/** The domain in whose DNS the records are entered. */
export function zoneOf({ domain, records }: DomainRecord): string {
  const prefix = `${records[0]?.name}.`
  return domain.startsWith(prefix) ? domain.slice(prefix.length) : domain
}

/** A record's name with the domain behind it, for forms that want it whole. */
export function wholeName({ name }: DomainDnsRecord, record: DomainRecord): string {
  return name === '@' ? record.domain : `${name}.${zoneOf(record)}`
}

/** Where visitors find it. */
export function addressOf({ domain, certificate }: DomainRecord): string {
  const { protocol, port } = new URL(settings.baseUrl)
  if (certificate.status === 'active' && protocol === 'http:') return `https://${domain}/`
  return `${protocol}//${domain}${port && `:${port}`}/`
}

/** The API's words for why it waits or what is wrong, without the time of the next look, which stands elsewhere. */
export function reasonOf({ reason }: DomainRecord): string | null {
  if (reason === null) return null
  const words = reason.replace(/\.? It is looked up again at [^.]*\.?$/, '')
  return /[.!?]$/.test(words) ? words : `${words}.`
}

/** Whether these words say more than what stands at each record. */
export function isMoreThanRecords(record: DomainRecord): boolean {
  const { status, reason, records, nextCheckAt } = record
  const standings = records.map((one) => standingOf(one, record))
  const isUnclear = standings.includes('unknown') || standings.every((standing) => standing === 'right')
  return status === 'active' || isUnclear || nextCheckAt === null || / another account\b/.test(reason ?? '')
}

/** What is waited for, in a few words. */
export function progressOf(record: DomainRecord): string {
  const standings = record.records.map((one) => standingOf(one, record))
  const left = record.records.filter((_, index) => standings[index] !== 'right')
  if (standings.includes('unasked')) return 'The records are being looked up.'
  if (left.length === 0) return 'Both records are there.'
  if (standings.includes('wrong')) return 'DNS answers something else than it has to.'
  if (left.length > 1) return 'Waiting for both records.'
  return `One record is there. Waiting for the ${left[0]!.type} record.`
}

/** A domain's certificate in a word. */
export function certificateWord({ status, certificate }: DomainRecord): string | undefined {
  if (status === 'pending' || certificate.status === 'none') return undefined
  if (certificate.problem !== null)
    return certificate.status === 'active' ? 'HTTPS, not renewed' : 'No HTTPS yet'
  return certificate.status === 'active' ? 'HTTPS' : 'HTTPS on its way'
}

/** What becomes of the others of a list when one comes. */
export function withDomain(all: readonly DomainRecord[], added: DomainRecord): DomainRecord[] {
  const others = all.filter(({ domain }) => domain !== added.domain)
  const known = others.map((one) => (one.alternate === added.domain ? { ...one, alternate: null } : one))
  return [...known, added].toSorted((one, other) => one.createdAt.localeCompare(other.createdAt))
}

/** The same when one goes: what led to it shows the site now, and it could be added again. */
export function withoutDomain(all: readonly DomainRecord[], gone: string): DomainRecord[] {
  const pair = all.find(({ domain }) => domain === gone)?.redirectsTo
  return all
    .filter(({ domain }) => domain !== gone)
    .map((one) =>
      one.redirectsTo === gone || one.domain === pair ? { ...one, redirectsTo: null, alternate: gone } : one,
    )
}
