import { MAX_DOMAIN_TEXT_LENGTH } from './domains.ts'
import { slug } from './fields.schema.ts'
import { bool, constant, list, named, nullable, type Static, text, time } from './schema.ts'

const dnsRecord = named('DnsRecord', {
  type: text('CNAME, ALIAS or TXT', { enum: ['CNAME', 'ALIAS', 'TXT'] }),
  name: text('Name as the forms of DNS providers expect it; @ is the root'),
  value: text('Value'),
  found: nullable(
    list(text('A value'), 'The response of DNS at the last check; null before it, or when DNS failed'),
  ),
  right: nullable(
    bool('Whether found is equivalent to value, since an alias may show as addresses; null when found is'),
  ),
})
export type DomainDnsRecord = Static<typeof dnsRecord>

const certificate = named('Certificate', {
  status: text(
    '`none` for a name that is not active, or a service without HTTPS; `pending` until the first certificate is issued',
    { enum: ['none', 'pending', 'active'] },
  ),
  issuedAt: nullable(time('When the certificate was issued')),
  expiresAt: nullable(time('When the certificate expires')),
  renewsAt: nullable(time('When it is renewed or retried')),
  problem: nullable(text('The error of the last attempt')),
})
export type DomainCertificate = Static<typeof certificate>

export const domainResponse = named('Domain', {
  domain: text('Host name as IDNA A-labels'),
  siteSlug: slug,
  status: text('`pending` until its DNS records are found', { enum: ['pending', 'active'] }),
  records: list(dnsRecord, 'The records to enter in DNS: the pointer and the verification token'),
  reason: nullable(
    text('Why it is pending, or the problem: the record, the value found, the value expected'),
  ),
  redirectsTo: nullable(
    text(
      'Target of the redirect (308), its www or root domain, while that is active; null when the domain shows the site. Of a pending domain the one that it will redirect to',
    ),
  ),
  alternate: nullable(
    text(
      'Its www or its root domain, when it can be added too; on the same site, it does not count towards the limit',
    ),
  ),
  certificate,
  createdAt: time('Creation'),
  verifiedAt: nullable(time('When the records were verified')),
  checkedAt: nullable(time('When the records were checked last')),
  nextCheckAt: nullable(
    time('When they are checked next; null when only requesting this record triggers a check'),
  ),
})
export type DomainRecord = Static<typeof domainResponse>

export const domainRequest = named('DomainRequest', {
  domain: text('Host name', { maxLength: MAX_DOMAIN_TEXT_LENGTH }),
  siteSlug: text('The site', { maxLength: 100 }),
})

export const domainList = named('DomainList', { domains: list(domainResponse, 'Oldest first') })
export type DomainList = Static<typeof domainList>

export const deleteDomainResponse = named('DeletedDomain', {
  domain: text('The name'),
  deleted: constant(true, 'Always true'),
})
export type DeleteDomainResponse = Static<typeof deleteDomainResponse>
