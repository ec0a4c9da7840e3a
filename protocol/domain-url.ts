import type { DomainRecord } from './api/domains.schema.ts'

/** The public URL of an active domain: with scheme and port of the server, unless its certificate says otherwise. */
export function domainUrl({ domain, certificate }: DomainRecord, server: string): string {
  const { protocol, port } = new URL(server)
  if (certificate.status === 'active' && protocol === 'http:') return `https://${domain}/`
  if (certificate.status === 'pending' && protocol === 'https:') return `http://${domain}/`
  return `${protocol}//${domain}${port && `:${port}`}/`
}
