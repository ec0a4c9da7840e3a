import type { DomainRecord } from '../../protocol/api/domains.schema.ts'

/** Changes of the domain pages to their shared list. */
export interface KnownDomains {
  put(record: DomainRecord): void
  drop(domain: string): void
}
