/**
 * Request and response types of the API: the bodies of spec sections 2 to 4 and of the contract. Types only,
 * so that both sides may import them.
 *
 * Sizes are bytes, times are ISO 8601 UTC strings with milliseconds, unless a name says seconds.
 */

export type * from './wire/account.ts'
export type * from './wire/domains.ts'
export type * from './wire/visits.ts'

/** One manifest entry (spec 2.2). */
export interface FileEntry {
  path: string
  size: number
  contentType: string
  /** SHA-256, 64 lowercase hex characters. Without it the file is always uploaded. */
  hash?: string
}

/** Site metadata of a publish. On update absent fields stay, `null` clears. */
export interface SiteMetadata {
  title?: string | null
  description?: string | null
  /** Path of an image in the manifest. */
  ogImagePath?: string | null
  /** Navigations to unknown paths get `index.html`. */
  spaMode?: boolean
  /** Owned sites only: seconds until the site expires, counted from finalize. `null` means never. */
  ttlSeconds?: number | null
}

export interface PublishRequest extends SiteMetadata {
  files: FileEntry[]
  viewer?: SiteMetadata
  /** Fail with VERSION_CONFLICT when another version is live. */
  baseVersionId?: string
  /** In place of a key, to update an anonymous site. */
  claimToken?: string
}

export interface UploadTarget {
  path: string
  method: 'PUT'
  url: string
  headers: Record<string, string>
}

/** Spec 2.3. */
export interface UploadPlan {
  versionId: string
  uploads: UploadTarget[]
  /** Accepts several uploads in one request as a tar. Absent when nothing must be uploaded. */
  bundle?: BatchTarget
  skipped: { path: string; reason: 'hash_match' }[]
  finalizeUrl: string
  expiresInSeconds: number
}

export interface UpdateResponse {
  slug: string
  siteUrl: string
  upload: UploadPlan
}

/** Spec 2.4. */
export interface AnonymousExtras {
  claimToken: string
  claimUrl: string
  expiresAt: string
  anonymous: true
  warning: string
}

export interface CreateResponse extends UpdateResponse, Partial<AnonymousExtras> {
  status: 'pending'
}

/** The target of tars with files of a pending version, in any number of requests. */
export interface BatchTarget {
  method: 'PUT'
  url: string
  headers: Record<string, string>
  /** Of one request, in bytes, including the tar's headers. */
  maxBytes: number
}

/** Response of `PUT /api/v1/_upload/…`. */
export interface UploadReceipt {
  path: string
  size: number
  hash: string
}

/** Response of a batch: the received files, in the order of the tar. */
export interface BatchReceipt {
  files: UploadReceipt[]
}

export interface FinalizeRequest {
  versionId: string
  /** `false` keeps the version as a draft with a URL of its own. */
  live?: boolean
  /** Of an anonymous site: needed to make a draft live. */
  claimToken?: string
}

export interface FinalizeResponse {
  success: true
  slug: string
  siteUrl: string
  status: 'active' | 'pending'
  versionId: string
  currentVersionId: string | null
  previousVersionId: string | null
  /** This version's own URL; never indexed. */
  previewUrl: string
  /** Present when the version was finalized before. */
  replayed?: true
  /** Problems in the files that do not break the site, such as an invalid line of `_redirects`. */
  warnings?: PublishWarning[]
}

/** A problem in a published file. */
export interface PublishWarning {
  /** The file's path. */
  file: string
  /** From 1; absent when it concerns the whole file. */
  line?: number
  /** One sentence for a person. */
  message: string
}

/** One request with a zip, tar or tar.gz as its body. */
export interface ArchiveResponse extends FinalizeResponse, Partial<AnonymousExtras> {
  fileCount: number
  totalBytes: number
  /** Metadata files of archivers, such as `__MACOSX/`, that were skipped. */
  skipped: { path: string; reason: 'junk' }[]
}

/** Spec 2.1 and 4.7. */
export interface SiteDetails {
  slug: string
  siteUrl: string
  status: 'pending' | 'active'
  versionId: string
  currentVersionId: string | null
  pendingVersionId: string | null
  title: string | null
  description: string | null
  ogImagePath: string | null
  spaMode: boolean
  hasPassword: boolean
  createdAt: string
  updatedAt: string
  expiresAt: string | null
  files: FileEntry[]
}

export interface SiteSummary {
  slug: string
  siteUrl: string
  status: 'pending' | 'active'
  title: string | null
  hasPassword: boolean
  /** What most of the site is, for an icon; `null` before the first version is live. */
  kind: SiteKind | null
  /** URL of its image: the Open Graph image, the icon, or its only image; `null` without any. */
  imageUrl: string | null
  versionId: string
  currentVersionId: string | null
  pendingVersionId: string | null
  fileCount: number
  totalBytes: number
  createdAt: string
  updatedAt: string
  expiresAt: string | null
}

export type SiteKind = 'page' | 'image' | 'video' | 'audio' | 'document' | 'files'

export interface SiteList {
  publishes: SiteSummary[]
  nextCursor: string | null
}

export interface MetadataRequest extends SiteMetadata {
  /** 1 to 200 characters; `null` removes the password. */
  password?: string | null
}

export interface DuplicateResponse {
  slug: string
  siteUrl: string
  versionId: string
  copiedFrom: string
  status: 'active'
}

export interface DeleteResponse {
  slug: string
  deleted: true
}

export interface ClaimResponse {
  success: true
  slug: string
  siteUrl: string
  expiresAt: null
  alreadyOwned?: true
}

/** What the holder of a claim link may see before signing in: `POST …/:slug/claim/preview { claimToken }`. */
export type ClaimPreview = ClaimOffer | { slug: string; claimed: true }

/** A site that has no owner yet. */
export interface ClaimOffer {
  slug: string
  siteUrl: string
  status: 'pending' | 'active'
  title: string | null
  fileCount: number
  totalBytes: number
  createdAt: string
  expiresAt: string | null
  claimed: false
  /** The version to look at; `null` while there is none. */
  currentVersionId: string | null
}

export interface VersionSummary {
  versionId: string
  createdAt: string
  /** When it first went live; `null` for a draft. */
  publishedAt: string | null
  /** Its author: the owner's address, `null` before the site had an owner. */
  publishedBy: string | null
  /** Its credential: an API key, the dashboard, none; `null` when it was not recorded. */
  publishedWith: PublishedWith | null
  fileCount: number
  totalBytes: number
  current: boolean
  previewUrl: string
  /** Number of files that differ from the previous version; `null` when no earlier one is kept. */
  changes: { added: number; changed: number; removed: number } | null
}

export type PublishedWith = 'key' | 'dashboard' | 'anonymous'

export interface VersionList {
  versions: VersionSummary[]
}

/** `GET …/versions/:versionId`. */
export interface VersionDetails extends VersionSummary {
  files: FileEntry[]
  /** The previous kept version, with which the paths below are compared. */
  comparedWith: string | null
  added: string[]
  changed: string[]
  removed: string[]
}

export interface DeleteVersionResponse {
  slug: string
  versionId: string
  deleted: true
}

/** Spec 2.8. `details` points at the problem, where possible. */
export interface ErrorBody {
  error: string
  code: ErrorCode
  status: number
  details?: unknown
}

export type ErrorCode =
  | 'VALIDATION_ERROR'
  | 'INVALID_JSON'
  | 'INVALID_CODE'
  | 'SIZE_MISMATCH'
  | 'HASH_MISMATCH'
  | 'CONTENT_TYPE_MISMATCH'
  | 'UNAUTHORIZED'
  | 'INVALID_CLAIM_TOKEN'
  | 'INVALID_UPLOAD_TOKEN'
  | 'DOMAIN_LIMIT_REACHED'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'REQUEST_TIMEOUT'
  | 'UPLOADS_MISSING'
  | 'VERSION_CONFLICT'
  | 'ALREADY_CLAIMED'
  | 'SITE_PENDING'
  | 'DOMAIN_TAKEN'
  | 'VERSION_LIVE'
  | 'SITE_EXPIRED'
  | 'UPLOAD_EXPIRED'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'RATE_LIMITED'
  | 'INTERNAL'
  | 'UNAVAILABLE'
  | 'INSUFFICIENT_STORAGE'
