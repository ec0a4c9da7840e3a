import type { Generated } from 'kysely'
import type { Plan, PublishedWith } from '../../client/wire.ts'

/**
 * The tables. Times are milliseconds since 1970, sizes bytes, hashes of secrets SHA-256 or HMAC in hex.
 * Only what every SQL engine has: text and integers.
 */
export interface Schema {
  accounts: AccountRow
  codes: CodeRow
  sign_in_failures: SignInFailuresRow
  sessions: SessionRow
  sites: SiteRow
  versions: VersionRow
  arrivals: ArrivalRow
  blob_names: BlobNameRow
  condemned_blobs: CondemnedBlobRow
  encodings: EncodingRow
  domains: DomainRow
  held_domains: HeldDomainRow
  certificates: CertificateRow
  acme_accounts: AcmeAccountRow
  acme_challenges: AcmeChallengeRow
  acme_requests: AcmeRequestRow
  counters: CounterRow
  changes: ChangeRow
  leases: LeaseRow
  visit_hours: VisitHourRow
  visit_names: VisitNameRow
  visitors: VisitorRow
  visit_salts: VisitSaltRow
}

export interface AccountRow {
  id: string
  email: string
  plan: Plan
  key_hash: string | null
  created_at: number
  /** Since when its owner is leaving: by then nobody can sign in to it, and what it has is being deleted; null usually. */
  leaving_since: number | null
}

/** The one code that an address can sign in with. */
export interface CodeRow {
  email: string
  code_hash: string
  wrong_tries: number
  expires_at: number
}

/** Wrong tries in a row for an address, over all codes and callers. */
export interface SignInFailuresRow {
  email: string
  wrong_tries: number
  locked_until: number | null
}

export interface SessionRow {
  token_hash: string
  account_id: string
  created_at: number
  expires_at: number
  /** What signed in, in words; null when its User-Agent says nothing. */
  browser: string | null
}

/**
 * A site. A row is never deleted, so that its slug is never given out again: `gone_at` says since when it is
 * gone, and by then it has no versions.
 */
export interface SiteRow {
  slug: string
  owner_id: string | null
  claim_token_hash: string | null
  live_version_id: string | null
  previous_version_id: string | null
  live_since: number | null
  title: string | null
  description: string | null
  og_image_path: string | null
  spa_mode: number
  password_hash: string | null
  created_at: number
  updated_at: number
  expires_at: number | null
  gone_at: number | null
  gone_reason: 'deleted' | 'expired' | 'abandoned' | null
}

/** A version of a site with its whole manifest; `files` is written at stage and once more at finalize. */
export interface VersionRow {
  id: string
  slug: string
  state: 'pending' | 'ready'
  /** JSON of `StoredFile[]`. */
  files: string
  file_count: number
  total_bytes: number
  /** JSON of what the publish says about the site; applied when the version first goes live. */
  viewer: string
  base_version_id: string | null
  created_at: number
  published_at: number | null
  /** JSON of `SiteRules`: what finalize read in `_redirects` and `_headers`; null when the version has neither. */
  rules: string | null
  /** JSON of `PublishWarning[]`: what finalize found odd; null when nothing was. */
  warnings: string | null
  /** JSON of `Front`: the root document with the site's metadata in its head; null when it is served as published. */
  front: string | null
  /** 1 once the encodings of all its files were prepared. */
  encoded: 0 | 1
  /** The account that staged it, and with what; null for versions from before these were noted. */
  published_by: string | null
  published_with: PublishedWith | null
  /** JSON of `Look`: what lists of sites show of it; null before it is finalized, and for versions from before there was one. */
  look: string | null
}

/** A file of a pending version whose bytes have come. */
export interface ArrivalRow {
  version_id: string
  file_number: number
  hash: string
  size: number
}

/** A site names a blob in a finalized version. What pending ones wait to name are their arrivals. */
export interface BlobNameRow {
  hash: string
  slug: string
}

/** A blob that nobody named at that time; deleted after a grace time if that is still so. */
export interface CondemnedBlobRow {
  hash: string
  since: number
}

/**
 * The encodings of a blob that are kept beside it, by their size in bytes; null where it would not have shrunk. A blob
 * without a row was not tried yet, or is of a type that does not shrink.
 */
export interface EncodingRow {
  hash: string
  br: number | null
  zstd: number | null
  gzip: number | null
}

/** A name that an account wants for a site, or has: each account may wait for one, one account has it. */
export interface DomainRow {
  domain: string
  account_id: string
  slug: string
  status: 'pending' | 'active'
  /** What the TXT record has to say; random for each account and domain. */
  proof: string
  /** Why it is pending, or what is wrong with it, in words. */
  reason: string | null
  created_at: number
  verified_at: number | null
  checked_at: number | null
  /** Since when it waits for its proofs: how often they are looked up depends on it; null when it is active. */
  pending_since: number | null
  /** The `www` of this root, or the root of this `www`, that visitors are sent to; null for a name that shows the site. */
  primary_domain: string | null
  /** JSON of `Found`: what DNS answered at the last look. */
  found: string | null
  /** Since when each look has seen both proofs; null when the last one did not. */
  proven_since: number | null
  /** Since when no look has seen an active name point here; null when the last one did. */
  failing_since: number | null
  /** When it is looked up again; null when only its owner's asking makes that happen. */
  next_check_at: number | null
  /** 1 when the last look took long: such names must not be in the way of others. */
  slow: 0 | 1
}

/** An active name that was deleted: until then only that account can have it again, with the same proof. */
export interface HeldDomainRow {
  domain: string
  account_id: string
  proof: string
  until: number
}

/**
 * The certificate of a name and what is to be done about it. What was issued stays until the next one takes its place in
 * the same write. Keys are PKCS#8 in PEM, sealed with the service's secret.
 */
export interface CertificateRow {
  /** A custom domain, the service's own host, or `*.{site_domain}`. */
  name: string
  /** PEM, leaf first; null before the first one was issued. */
  chain: string | null
  key: string | null
  not_before: number | null
  not_after: number | null
  issued_at: number | null
  /** What the CA calls it when it is asked about it (RFC 9773, 4.1). */
  certificate_id: string | null
  /** 1 once the CA has said when it wants it renewed: it knows it, so that an order may say what it replaces. */
  informed: 0 | 1
  /** When it is to be renewed, as the CA suggests or by the rule without a suggestion. */
  renew_at: number | null
  /** When the CA is asked for its suggestion again (RFC 9773). */
  information_at: number | null
  /** The order under way and the key it is for, kept before the CA is asked to issue; null when none is. */
  order_url: string | null
  order_key: string | null
  /** How it is proven first: as it was last time, or in another way when the CA has looked in vain; null at first. */
  proof_type: 'http-01' | 'tls-alpn-01' | 'dns-01' | null
  /** In a row, since the last certificate. */
  failures: number
  /** What went wrong last, in words; null after a success. */
  problem: string | null
  /** When something is to be done next; null when nothing is until somebody wants it again. */
  due_at: number | null
  /** Since when nobody wants a certificate of that name; null while somebody does. */
  unused_since: number | null
}

/** The service's account at a CA (RFC 8555, 7.3): its key is kept before it is made, so that there is never a second one. */
export interface AcmeAccountRow {
  directory: string
  /** PKCS#8 in PEM, sealed. */
  key: string
  url: string | null
  created_at: number
}

/** What any node answers when the CA looks at a name (RFC 8555, 8.3; RFC 8737). */
export interface AcmeChallengeRow {
  type: 'http-01' | 'tls-alpn-01'
  name: string
  token: string
  key_authorization: string
  expires_at: number
}

/**
 * What counts against the limits of the CA: orders, those among them that renew as the CA suggests and so do not count
 * there (`renewal`), certificates for the same names, validations of a name that failed; and until when the CA wants to be
 * left alone (`pause`, by its end).
 */
export interface AcmeRequestRow {
  id: string
  kind: 'order' | 'renewal' | 'certificate' | 'failure' | 'pause'
  /** Sorted, by commas. */
  names: string
  at: number
}

/** Requests of a caller within one window. */
export interface CounterRow {
  caller: string
  window_start: number
  requests: number
}

/** What other processes have to forget: everything about a site (its slug) or a domain (its name, which has a dot). */
export interface ChangeRow {
  seq: Generated<number>
  slug: string
  at: number
}

export interface LeaseRow {
  name: string
  holder: string
  fence: number
  until: number
}

/** Visits of a site in one hour (`hour`: its start). */
export interface VisitHourRow {
  slug: string
  hour: number
  requests: number
  bytes: number
  /** Who came in that hour for the first time on its day. */
  visitors: number
}

/** How often a path was found or missing, or another host led to a site, on one day (`day`: its start, UTC). */
export interface VisitNameRow {
  slug: string
  day: number
  kind: 'path' | 'missing' | 'referrer'
  name: string
  requests: number
}

/** Who came to a site on a day, as a hash that nobody can make again once the day's salt is gone; deleted with it. */
export interface VisitorRow {
  slug: string
  day: number
  visitor: string
}

/** What a day's visitors are hashed with, on every node; deleted after that day. */
export interface VisitSaltRow {
  day: number
  salt: string
}
