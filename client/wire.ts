/**
 * What travels between a client and a Slipway server: the bodies of spec sections 2 to 4 and of the
 * contract. Types only, so that both sides may import it and neither imports the other.
 *
 * Sizes are bytes, times are ISO 8601 UTC strings with milliseconds, unless a name says seconds.
 */

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

/** Answer of `PUT /api/v1/_upload/…`. */
export interface UploadReceipt {
  path: string
  size: number
  hash: string
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
  versionId: string
  currentVersionId: string | null
  pendingVersionId: string | null
  fileCount: number
  totalBytes: number
  createdAt: string
  updatedAt: string
  expiresAt: string | null
}

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
}

export interface VersionSummary {
  versionId: string
  createdAt: string
  /** When it was first live; `null` for a draft. */
  publishedAt: string | null
  fileCount: number
  totalBytes: number
  current: boolean
  previewUrl: string
}

export interface VersionList {
  versions: VersionSummary[]
}

export interface DeleteVersionAnswer {
  slug: string
  versionId: string
  deleted: true
}

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

/** Spec 4.1. */
export interface RequestCodeAnswer {
  message: string
  email: string
  expiresInSeconds: number
}

/** Spec 4.2. */
export interface VerifyCodeAnswer {
  message: string
  apiKey: string
  email: string
  plan: Plan
  isNewUser: boolean
  warning: string
}

/** `POST /api/auth/session`: the dashboard's sign-in; the cookie travels in a header. */
export interface SessionAnswer {
  email: string
  plan: Plan
  isNewUser: boolean
}

export interface NewKeyAnswer {
  apiKey: string
  warning: string
}

export type Plan = 'free' | 'hobby'

export interface Me {
  email: string
  plan: Plan
  createdAt: string
  limits: {
    requestsPerHour: number
    domains: number
    filesPerSite: number
    fileBytes: number
    siteBytes: number
    versionsKept: number
  }
  usage: {
    requestsThisHour: number
    /** When the request counter starts again. */
    resetsAt: string
    sites: number
    domains: number
    totalBytes: number
  }
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
