import type { DomainRecord } from './api/domains.schema.ts'

/** The public URL of an active domain: with scheme and port of the server, unless its certificate says otherwise. */
export function domainUrl({ domain, certificate }: DomainRecord, server: string): string {
  const { protocol, port } = new URL(server)
  if (certificate.status === 'active' && protocol === 'http:') return `https://${domain}/`
  if (certificate.status === 'pending' && protocol === 'https:') return `http://${domain}/`
  return `${protocol}//${domain}${port && `:${port}`}/`
}

/** The DNS zone of the records: the domain without the name of its first record. */
export function toZone({ domain, records }: DomainRecord): string {
  const prefix = `${records[0]?.name}.`
  return domain.startsWith(prefix) ? domain.slice(prefix.length) : domain
}
