import type { Generated } from 'kysely'
import type { Plan } from '../../protocol/api/account.schema.ts'
import type { AccountScope, KeyScope } from '../../protocol/api/keys.ts'
import type { ProgramScope } from '../../protocol/api/programs.ts'
import type { Forge } from '../../protocol/api/trusts.ts'
import type { PublishedWith } from '../../protocol/api/versions.schema.ts'
import type { ActivityRow, AuditRow, FigureRow, SweepRunRow } from './administration-rows.ts'
import type { AcmeAccountRow, AcmeChallengeRow, AcmeRequestRow, CertificateRow } from './certificate-rows.ts'
import type { AcceptedScanRow, BlockRow, ReportRow } from './moderation-rows.ts'

export type EngineName = 'sqlite' | 'postgres'

/**
 * The tables. Times are milliseconds since 1970, sizes bytes, hashes of secrets SHA-256 or HMAC in hex. Only
 * types that every SQL engine has: text and integers.
 */
export interface Schema {
  accounts: AccountRow
  usage: UsageRow
  invitations: InvitationRow
  operator_settings: OperatorSettingRow
  named_keys: NamedKeyRow
  device_sign_ins: DeviceSignInRow
  trusts: TrustRow
  used_tokens: UsedTokenRow
  sign_in_codes: SignInCodeRow
  sign_in_sources: SignInSourceRow
  sessions: SessionRow
  oauth_records: OAuthRecordRow
  sites: SiteRow
  collaborators: CollaboratorRow
  versions: VersionRow
  thumbnails: ThumbnailRow
  arrivals: ArrivalRow
  blobs: BlobRow
  blob_names: BlobNameRow
  encodings: EncodingRow
  discarded_objects: DiscardedObjectRow
  job_cursors: JobCursorRow
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
  notices: NoticeRow
  blocks: BlockRow
  reports: ReportRow
  accepted_scans: AcceptedScanRow
  ticket_keys: TicketKeyRow
  shared_settings: SharedSettingRow
  nodes: NodeRow
  audit_log: AuditRow
  figures: FigureRow
  activity: ActivityRow
  sweep_runs: SweepRunRow
}

export interface AccountRow {
  id: string
  email: string
  plan: Plan
  key_hash: string | null
  created_at: number
  /** 1 when reminders are sent by email. */
  reminders: 0 | 1
  /** JSON: kinds of notices that are not sent; null when all are. */
  notices_off: string | null
  /** When the mail server refused the address permanently, and its reply; null after a success. */
  email_refused_at: number | null
  email_refusal: string | null
  /** Start of the account's deletion: sign-in is disabled and its data is being deleted; otherwise null. */
  deletion_started_at: number | null
  /** JSON of `Suspension`, which applies to all of its sites; null when it is not suspended. */
  suspension: string | null
  /** Since when it administers the service; null for other accounts. */
  administrator_since: number | null
  /** JSON of the limits that differ from those of the plan; null without. */
  limits: string | null
}

/** What an account, a network or all anonymous sites hold. `revision` grows with each change. */
export interface UsageRow {
  holder: string
  bytes: number
  sites: number
  revision: number
}

/** An address that may create an account until then. */
export interface InvitationRow {
  email: string
  /** The administrator's account; null for the command of the operator. */
  invited_by: string | null
  created_at: number
  expires_at: number
}

/** What the operator has set while the service runs, as JSON. */
export interface OperatorSettingRow {
  name: string
  value: string
}

/** An API key beside the account's `key_hash`; its name is unique within the account. */
export interface NamedKeyRow {
  key_hash: string
  account_id: string
  name: string
  created_at: number
  scope: KeyScope
  /** JSON: the `visits_key` of each site that it is limited to; null for all. */
  sites: string | null
  expires_at: number | null
  last_used_at: number | null
  /** What the service issued it for; null for a key that the account created by its name. */
  issued_by: string | null
}

/** A repository whose jobs get keys of one site. */
export interface TrustRow {
  id: string
  account_id: string
  created_at: number
  forge: Forge
  issuer: string
  repository: string
  repository_id: string | null
  workflow: string | null
  /** The `visits_key` of the site. */
  site: string
  scope: AccountScope
  branch: string | null
  tag: string | null
  environment: string | null
  pull_requests: 0 | 1
  last_used_at: number | null
}

/** A token of a job that was exchanged, until it expires. */
export interface UsedTokenRow {
  token_hash: string
  expires_at: number
}

/** A sign-in of a program without a browser (RFC 8628). */
export interface DeviceSignInRow {
  device_hash: string
  user_code_hash: string
  /** The program and the machine that ask, as they describe themselves. */
  program: string
  machine: string
  network: string
  scope: ProgramScope
  created_at: number
  expires_at: number
  /** Minimum interval between polls. */
  interval_ms: number
  polled_at: number | null
  state: 'pending' | 'approved' | 'denied'
  /** The account that approved or denied it. */
  account_id: string | null
}

/** An emailed code. An address may have several that are valid; each belongs to the attempt that requested it. */
export interface SignInCodeRow {
  attempt_hash: string
  email: string
  /** The network that requested it, as a keyed hash. */
  network: string
  code_hash: string
  /** Wrong tries with the attempt token: too many invalidate the code. */
  attempt_tries: number
  /** Wrong tries of the same network without the attempt token: too many invalidate the code for callers without it. */
  open_tries: number
  expires_at: number
}

/** A network or browser that signs in to an address, as a keyed hash; `''` represents all others. */
export interface SignInSourceRow {
  email: string
  source: string
  /** The last successful sign-in; null before the first one. */
  signed_in_at: number | null
  /** Wrong tries in a row. */
  wrong_tries: number
  locked_until: number | null
  changed_at: number
}

/** See `OAuthRecord`. */
export interface OAuthRecordRow {
  id_hash: string
  kind: string
  grant_hash: string | null
  account_id: string | null
  payload: string
  created_at: number
  expires_at: number
  consumed_at: number | null
}

export interface SessionRow {
  token_hash: string
  account_id: string
  created_at: number
  expires_at: number
  /** Description of the client; null when its User-Agent is unknown. */
  browser: string | null
}

/**
 * A site. A row is never deleted, so that its slug is never reused: `deleted_at` is the time of its deletion,
 * after which it has no versions, unless it is in the trash.
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
  deleted_at: number | null
  deletion_reason: 'deleted' | 'expired' | 'abandoned' | 'renamed' | null
  /** Of a former name: the current one, while it redirects. */
  renamed_to: string | null
  /** Key of its rows in the tables of visits: its first slug. */
  visits_key: string
  /** Of a site in the trash: the end of that time. */
  kept_until: number | null
  /** Of a site in the trash: JSON of `KeptDomain[]`; null when it had no domains. */
  kept_domains: string | null
  /** JSON of `Suspension`; null when it is not suspended. */
  suspension: string | null
  /** Of an anonymous site: the network of its first publish, as a keyed hash. Null of sites with an owner. */
  network: string | null
}

/** An address whose account may publish to a site of another account. */
export interface CollaboratorRow {
  slug: string
  email: string
  added_at: number
}

/** A version of a site with its whole manifest; finalize writes `files` again when hashes were not declared. */
export interface VersionRow {
  id: string
  slug: string
  state: 'pending' | 'ready' | 'former'
  /** JSON of `StoredFile[]`. */
  files: string
  file_count: number
  total_bytes: number
  /** JSON of the metadata in the publish request; applied when the version first goes live. */
  metadata: string
  base_version_id: string | null
  created_at: number
  published_at: number | null
  /** JSON of `SiteRules`: the parsed `_redirects` and `_headers`; null when the version has neither. */
  rules: string | null
  /** JSON of `PublishWarning[]`; null when there are none. */
  warnings: string | null
  /**
   * Of the root document with the site's metadata in its head, for which encodings are stored; null when it is served as
   * published.
   */
  injected_document_hash: string | null
  /** 1 when the encodings of all its files are complete. */
  is_encoded: 0 | 1
  /** The account that staged it, null for none, and its credential. */
  published_by: string | null
  published_with: PublishedWith | null
  /** The program that staged it, as it named itself; null when it did not. */
  published_client: string | null
  /** JSON of `SitePreview`, for lists of sites; null before finalize. */
  preview: string | null
  /** Title of its start page; null before finalize, without one, and as `preview`. */
  title: string | null
  /** Equal for versions with equal files; null before finalize. */
  content_hash: string | null
  message: string | null
  thumbnail_hash: string | null
  /** JSON of `VersionChanges`; null without a live version at staging, and as `content_hash`. */
  changes: string | null
  /** Of a preview: its name, which the newest finalized version of the site with it has. */
  preview_name: string | null
  /** When the preview ends; null without a name. */
  preview_until: number | null
  /** 1 when open pages of the preview reload after an update. */
  live_reload: 0 | 1
}

/** A picture of a version for lists of sites: WebP in base64. */
export interface ThumbnailRow {
  version_id: string
  picture: string
}

/** A received file of a pending version, in an object of its own. */
export interface ArrivalRow {
  version_id: string
  file_number: number
  hash: string
  size: number
  object: string
  /** See `StoredBlob`. */
  pieces_hash: string | null
}

/** A content that finalized versions have, and the object that holds it. */
export interface BlobRow {
  hash: string
  /** Null when only its encodings are stored. */
  object: string | null
  size: number
  pieces_hash: string | null
  /** A site that references it; further ones are in `blob_names`. */
  slug: string | null
  /** When a site last removed its reference; null when there is certainly another one. */
  unreferenced_since: number | null
}

/** A reference to a blob from a site beside the one in `blobs`. */
export interface BlobNameRow {
  hash: string
  slug: string
  /** The owner of the site; null while it is anonymous. */
  owner_id: string | null
}

/**
 * Sizes in bytes of a blob's stored encodings; null where encoding would not have reduced the size. A blob
 * without a row was not tried yet or is not compressible.
 */
export interface EncodingRow {
  hash: string
  br: number | null
  zstd: number | null
  gzip: number | null
  /** The object of all of them; null when there is none. */
  object: string | null
  /** JSON: of each encoding the offset in the object, the hash and the hash of its pieces. Null as `object`. */
  locations: string | null
}

/** An object to be deleted at that time, which no other row names. */
export interface DiscardedObjectRow {
  object: string
  due_at: number
}

/** Where a job continues. */
export interface JobCursorRow {
  job: string
  position: string
}

/**
 * A name that an account has or has requested for a site: several accounts may have it pending, one active.
 */
export interface DomainRow {
  domain: string
  account_id: string
  slug: string
  status: 'pending' | 'active'
  /** Required value of the TXT record; random for each account and domain. */
  verification_token: string
  /** Why it is pending, or its current problem, as a message. */
  reason: string | null
  created_at: number
  verified_at: number | null
  checked_at: number | null
  /** Start of the pending time, which determines the check interval; null when it is active. */
  pending_since: number | null
  /**
   * The `www` of this root domain, or the root domain of this `www`, to which visitors are redirected; null
   * for a name that serves the site.
   */
  primary_domain: string | null
  /** JSON of `DnsFindings`: what DNS returned at the last check. */
  findings: string | null
  /** Since when all checks have found both records; null when the last one did not. */
  proven_since: number | null
  /** Since when an active name does not point here; null when the last check found that it does. */
  failing_since: number | null
  /** Time of the next check; null when only the owner can trigger it. */
  next_check_at: number | null
  /** 1 when the last check took long: such names must not delay others. */
  is_slow: 0 | 1
  /** Until then a node checks it; null when the next check is planned. */
  checking_until: number | null
}

/** A deleted active name: until then only that account can add it again, with the same token. */
export interface HeldDomainRow {
  domain: string
  account_id: string
  verification_token: string
  until: number
}

/** Requests of a caller within one window. */
export interface CounterRow {
  caller: string
  window_start: number
  requests: number
}

/**
 * An invalidation for other processes: everything about a site (its slug) or a domain (its name, which has a
 * dot).
 */
export interface ChangeRow {
  seq: Generated<number>
  name: string
  effect: string
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
  /** Visitors with their first visit of the day in that hour. */
  visitors: number
}

/**
 * How often a path was found or missing, or another host referred to a site, on one day (`day`: its start,
 * UTC).
 */
export interface VisitNameRow {
  slug: string
  day: number
  kind: 'path' | 'missing' | 'referrer'
  name: string
  requests: number
}

/**
 * A visitor of a site on a day, as a hash that cannot be computed again after the day's salt is deleted;
 * deleted with it.
 */
export interface VisitorRow {
  slug: string
  day: number
  visitor: string
}

/** The salt for the hashes of a day's visitors, shared by all nodes; deleted after that day. */
export interface VisitSaltRow {
  day: number
  salt: string
  /** New visitors of that day, over all nodes and sites. */
  visitors: Generated<number>
}

/** The key of TLS session tickets of one period, by its number since 1970; sealed. */
export interface TicketKeyRow {
  period: number
  key: string
}

/** An event that the owner of an account is notified of by email. */
export interface NoticeRow {
  /** Identifies the event. */
  id: string
  account_id: string
  /** JSON of `NoticeEvent`. */
  event: string
  created_at: number
  attempts: number
  /** Time of the next attempt to send it; null when there is none. */
  due_at: number | null
}

/** The fingerprint of a setting that all nodes have in common. */
export interface SharedSettingRow {
  name: string
  fingerprint: string
}

/** A process that serves. */
export interface NodeRow {
  id: string
  host: string
  release: string
  started_at: number
  seen_at: number
  /** JSON of counters and gauges by their names. */
  numbers: string
}
