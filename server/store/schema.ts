import type { Generated } from 'kysely'
import type { Plan } from '../../client/wire.ts'

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
  counters: CounterRow
  changes: ChangeRow
  leases: LeaseRow
}

export interface AccountRow {
  id: string
  email: string
  plan: Plan
  key_hash: string | null
  created_at: number
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

export interface DomainRow {
  domain: string
  account_id: string
  slug: string
  status: 'pending' | 'active'
  proof: string
  reason: string | null
  created_at: number
  verified_at: number | null
  checked_at: number | null
}

/** Requests of a caller within one window. */
export interface CounterRow {
  caller: string
  window_start: number
  requests: number
}

/** What other processes have to forget: everything about a slug. */
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
