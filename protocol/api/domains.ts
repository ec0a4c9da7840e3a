// Custom domains (spec 2.7, 4.11 and 5.3; contract, "Domains").

export interface DomainRecord {
  domain: string
  siteSlug: string
  status: 'pending' | 'active'
  /** The DNS records to enter: the pointer and the verification token. */
  records: DomainDnsRecord[]
  /** Why it is pending, or the problem of an active domain. */
  reason: string | null
  /**
   * Redirect target (308): the root of this `www`, or the `www` of this root; `null` when it serves the site.
   */
  redirectsTo: string | null
  /**
   * The `www` of this root, or the root of this `www`, when it can be added too: it then redirects here and
   * is not counted.
   */
  alternate: string | null
  certificate: DomainCertificate
  createdAt: string
  verifiedAt: string | null
  checkedAt: string | null
  /** When the records are checked next; `null` when only requesting this record triggers a check. */
  nextCheckAt: string | null
}

export interface DomainDnsRecord {
  type: 'CNAME' | 'ALIAS' | 'TXT'
  /** In the form of DNS providers: `www`, `@`. */
  name: string
  value: string
  /** What DNS returns now, or `null` before the first check. */
  found: string[] | null
  /**
   * Whether that is equivalent to `value`, since an alias may show as addresses; `null` as above, or when DNS
   * failed.
   */
  right: boolean | null
}

export interface DomainCertificate {
  /**
   * `none` for a name that is not active, or a service without HTTPS; `pending` until the first one is
   * issued.
   */
  status: 'none' | 'pending' | 'active'
  /** When the current certificate was issued. */
  issuedAt: string | null
  expiresAt: string | null
  /** When it is renewed, or retried. */
  renewsAt: string | null
  /** The error of the last attempt. */
  problem: string | null
}

export interface DomainList {
  domains: DomainRecord[]
}

export interface DeleteDomainResponse {
  domain: string
  deleted: true
}
