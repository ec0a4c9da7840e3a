/**
 * What travels between a client and a Slipway server: the bodies of spec sections 2 to 4 and of the
 * contract. Types only, so that both sides may import it and neither imports the other.
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

/** What a publish may say about the site beside its files. On update absent keeps, `null` clears. */
export interface Viewer {
  title?: string | null
  description?: string | null
  /** Path of an image in the manifest. */
  ogImagePath?: string | null
  /** Navigations that find no file get `index.html`. */
  spaMode?: boolean
  /** Owned sites only: seconds until the site expires, counted from finalize. `null` means never. */
  ttlSeconds?: number | null
}

export interface PublishRequest extends Viewer {
  files: FileEntry[]
  viewer?: Viewer
  /** Refuse with VERSION_CONFLICT when another version is live. */
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
  /** Takes several of the uploads in one request: a tar of them, each under its path. Absent when nothing is to upload. */
  bundle?: BundleTarget
  skipped: { path: string; reason: 'hash_match' }[]
  finalizeUrl: string
  expiresInSeconds: number
}

export interface UpdateAnswer {
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

export interface CreateAnswer extends UpdateAnswer, Partial<AnonymousExtras> {
  status: 'pending'
}

/** Where a tar with files of a pending version goes; any of them, in any number of requests. */
export interface BundleTarget {
  method: 'PUT'
  url: string
  headers: Record<string, string>
  /** Of one request, in bytes, with the headers of the tar. */
  maxBytes: number
}

/** Answer of `PUT /api/v1/_upload/…`. */
export interface UploadReceipt {
  path: string
  size: number
  hash: string
}

/** Answer of a bundle: the files that arrived, in the order of the tar. */
export interface BundleReceipt {
  files: UploadReceipt[]
}

export interface FinalizeRequest {
  versionId: string
  /** `false` keeps the version as a draft with an address of its own. */
  live?: boolean
}

export interface FinalizeAnswer {
  success: true
  slug: string
  siteUrl: string
  status: 'active' | 'pending'
  versionId: string
  currentVersionId: string | null
  previousVersionId: string | null
  /** This version's own address; never indexed. */
  previewUrl: string
  /** Present when the version was already finalized like this. */
  replayed?: true
  /** What was odd in the files and does not break the site, such as a line of `_redirects` that cannot be read. */
  warnings?: PublishWarning[]
}

/** Something odd in a published file. */
export interface PublishWarning {
  /** The file's path. */
  file: string
  /** From 1; absent when it is about the whole file. */
  line?: number
  /** One sentence for a person. */
  message: string
}

/** One request with a zip, tar or tar.gz as its body. */
export interface ArchiveAnswer extends FinalizeAnswer, Partial<AnonymousExtras> {
  fileCount: number
  totalBytes: number
  /** Litter of archivers, such as `__MACOSX/`, that was left out. */
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
  /** What the site mostly is, for an icon; `null` before the first version is live. */
  kind: SiteKind | null
  /** Address of a picture of it: its Open Graph image, its icon, or the one image that it is; `null` without any. */
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

export interface MetadataRequest extends Viewer {
  /** 1 to 200 characters; `null` opens the site. */
  password?: string | null
}

export interface DuplicateAnswer {
  slug: string
  siteUrl: string
  versionId: string
  copiedFrom: string
  status: 'active'
}

export interface DeleteAnswer {
  slug: string
  deleted: true
}

export interface ClaimAnswer {
  success: true
  slug: string
  siteUrl: string
  expiresAt: null
  alreadyOwned?: true
}

/** What the holder of a claim link may see before signing in: `POST …/:slug/claim/preview { claimToken }`. */
export interface ClaimPreview {
  slug: string
  siteUrl: string
  status: 'pending' | 'active'
  title: string | null
  fileCount: number
  totalBytes: number
  createdAt: string
  expiresAt: string | null
  claimed: boolean
  /** The version to look at; `null` while there is none, and once the site has an owner. */
  currentVersionId: string | null
}

export interface VersionSummary {
  versionId: string
  createdAt: string
  /** When it was first live; `null` for a draft. */
  publishedAt: string | null
  /** Who made it: the owner's address, `null` before the site had an owner. */
  publishedBy: string | null
  /** With what: an API key, the dashboard, neither; `null` when it was made before this was noted. */
  publishedWith: PublishedWith | null
  fileCount: number
  totalBytes: number
  current: boolean
  previewUrl: string
  /** How many files differ from the version made before it; `null` when no earlier one is kept. */
  changes: { added: number; changed: number; removed: number } | null
}

export type PublishedWith = 'key' | 'dashboard' | 'anonymous'

export interface VersionList {
  versions: VersionSummary[]
}

/** `GET …/versions/:versionId`. */
export interface VersionDetails extends VersionSummary {
  files: FileEntry[]
  /** The version made before it that is still kept, which the paths below are compared with. */
  comparedWith: string | null
  added: string[]
  changed: string[]
  removed: string[]
}

export interface DeleteVersionAnswer {
  slug: string
  versionId: string
  deleted: true
}

/** Spec 2.8. `details` points at what is wrong, where there is something to point at. */
export interface ErrorBody {
  error: string
  code: FailureCode
  status: number
  details?: unknown
}

export type FailureCode =
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
