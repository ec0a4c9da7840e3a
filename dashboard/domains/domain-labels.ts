import type { DomainDnsRecord, DomainRecord } from '../../protocol/api/domains.schema.ts'
import { toZone } from '../../protocol/domain-url.ts'

/** The state of a required DNS record. */
export type RecordState = 'unasked' | 'unknown' | 'missing' | 'wrong' | 'right'

export function recordState({ found, right }: DomainDnsRecord, { checkedAt }: DomainRecord): RecordState {
  if (checkedAt === null) return 'unasked'
  if (right) return 'right'
  if (right === null) return 'unknown'
  return found?.length ? 'wrong' : 'missing'
}

/** Whether no more changes are expected: the domain serves the site, over HTTPS where the service has it. */
export function isSettled({ status, reason, certificate }: DomainRecord): boolean {
  return (
    status === 'active' && reason === null && certificate.status !== 'pending' && certificate.problem === null
  )
}

/** A record's full name, for forms that require it. */
export function fullName({ name }: DomainDnsRecord, record: DomainRecord): string {
  return name === '@' ? record.domain : `${name}.${toZone(record)}`
}

/** Whether the reason adds something to the records. */
export function isMoreThanRecords(record: DomainRecord): boolean {
  const { status, reason, records, nextCheckAt } = record
  const states = records.map((one) => recordState(one, record))
  const isUnclear = states.includes('unknown') || states.every((state) => state === 'right')
  return status === 'active' || isUnclear || nextCheckAt === null || / another account\b/.test(reason ?? '')
}

/** What is pending, in a few words. */
export function formatProgress(record: DomainRecord): string {
  const states = record.records.map((one) => recordState(one, record))
  const left = record.records.filter((_, index) => states[index] !== 'right')
  if (states.includes('unasked')) return 'Checking the records'
  if (left.length === 0) return 'Both records found'
  if (states.includes('wrong')) return 'A record has the wrong value'
  if (left.length > 1) return 'Waiting for both records'
  return `One record is correct. Waiting for the ${left[0]!.type} record`
}

/** A certificate's state in a word. */
export function certificateLabel({ status, certificate }: DomainRecord): string | undefined {
  if (status === 'pending' || certificate.status === 'none') return undefined
  if (certificate.problem !== null)
    return certificate.status === 'active' ? 'HTTPS, not renewed' : 'No HTTPS yet'
  return certificate.status === 'active' ? 'HTTPS' : 'HTTPS pending'
}

/** The list after a domain was added. */
export function withDomain(all: readonly DomainRecord[], added: DomainRecord): DomainRecord[] {
  const others = all.filter(({ domain }) => domain !== added.domain)
  const known = others.map((one) => (one.alternate === added.domain ? { ...one, alternate: null } : one))
  return [...known, added].toSorted((one, other) => one.createdAt.localeCompare(other.createdAt))
}

/** The list after a domain was removed: its redirect now serves the site, and it can be added again. */
export function withoutDomain(all: readonly DomainRecord[], gone: string): DomainRecord[] {
  const pair = all.find(({ domain }) => domain === gone)?.redirectsTo
  return all
    .filter(({ domain }) => domain !== gone)
    .map((one) =>
      one.redirectsTo === gone || one.domain === pair ? { ...one, redirectsTo: null, alternate: gone } : one,
    )
}
