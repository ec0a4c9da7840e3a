// Custom domains (spec 2.7, 4.11 and 5.3; contract, "Domains").

export interface DomainRecord {
  domain: string
  siteSlug: string
  status: 'pending' | 'active'
  /** What to enter in DNS: who points here, and the proof. */
  records: DomainDnsRecord[]
  /** Why it is still pending, or what is wrong with an active one, in words. */
  reason: string | null
  /** Where visitors are sent (308): the root of this `www`, or the `www` of this root; `null` when it shows the site. */
  redirectsTo: string | null
  /** The `www` of this root, or the root of this `www`, when it can be added too: it then redirects here and is not counted. */
  alternate: string | null
  certificate: DomainCertificate
  createdAt: string
  verifiedAt: string | null
  checkedAt: string | null
  /** When the records are looked up next; `null` when only asking for this record makes that happen. */
  nextCheckAt: string | null
}

export interface DomainDnsRecord {
  type: 'CNAME' | 'ALIAS' | 'TXT'
  /** As the zone's form wants it: `www`, `@`. */
  name: string
  value: string
  /** What DNS answers now, or `null` before the first look. */
  found: string[] | null
  /** Whether that is as good as `value`, since an alias may show as addresses; `null` as above, or when DNS could not say. */
  right: boolean | null
}

export interface DomainCertificate {
  /** `none` for a name that is not active, or a service without HTTPS; `pending` until the first one is there. */
  status: 'none' | 'pending' | 'active'
  /** Since when there is the one that is served. */
  issuedAt: string | null
  expiresAt: string | null
  /** When it is renewed, or tried again. */
  renewsAt: string | null
  /** What went wrong at the last try, in words. */
  problem: string | null
}

export interface DomainList {
  domains: DomainRecord[]
}

export interface DeleteDomainAnswer {
  domain: string
  deleted: true
}
