import type { Exclusion } from '../ignore/exclusions.ts'
// Publishing: manifest, uploads, finalize (spec 2.2 to 2.4 and 4.3 to 4.6). Here and in the files beside, sizes are
// bytes and times are ISO 8601 UTC strings with milliseconds, unless a name says seconds.

/** One manifest entry (spec 2.2). */
export interface FileEntry {
  path: string
  size: number
  contentType: string
  /** SHA-256, 64 lowercase hex characters. Without it the file is always uploaded. */
  hash?: string
}

/** Limits of a plan on a manifest; sizes in bytes. */
export interface FileLimits {
  files: number
  fileBytes: number
  siteBytes: number
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
  /** Paths of empty files, which need no upload: an entry of `files` has a positive size. */
  emptyFiles?: string[]
  /**
   * Of an update: lays `files` over those of the live version, which becomes the base: finalize fails with
   * VERSION_CONFLICT when another version went live.
   */
  merge?: boolean
  /** With `merge`: paths of the live version that the new one does not have. */
  delete?: string[]
  viewer?: SiteMetadata
  /** Of a new site with an owner: its slug, in place of a generated one. */
  name?: string
  /** A note about the version, at most 200 characters. */
  message?: string
  /**
   * Of a site with an owner: the name of a preview, which shows this version in place of an earlier one. The site stays as
   * it is. `merge`, `baseVersionId` and `ifChanged` then concern the version that the preview shows, or the live one while
   * there is no such preview; `ttlSeconds` is the lifetime of the preview.
   */
  preview?: string
  /** With `preview`: open pages of the preview reload after each update. */
  liveReload?: boolean
  /** Fail with VERSION_CONFLICT when another version is live, or shown by the preview. */
  baseVersionId?: string
  /** In place of a key, to update an anonymous site. */
  claimToken?: string
}

/** A file whose bytes are in the request: 2 MiB at most with those of the others. */
export type FileContent = { path: string; contentType?: string } & (
  | { content: string }
  | { contentBase64: string }
)

/** A publish whose files are in the request; live when it returns. */
export interface ContentsRequest extends Omit<PublishRequest, 'files'> {
  files: FileContent[]
  /** `false` keeps the version as a draft. */
  live?: boolean
  /** Drops the version if it equals the live one. */
  ifChanged?: boolean
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
  bundle?: BundleTarget
  skipped: { path: string; reason: 'hash_match' }[]
  finalizeUrl: string
  expiresInSeconds: number
}

export interface UpdateResponse {
  slug: string
  siteUrl: string
  upload: UploadPlan
  /** Absent when the version removes no file of the live one. */
  removal?: Removal
  /** Compared with the live version, by path; absent when there is none. */
  changes?: FileChanges
}

/** Number of files that differ between two versions; `changed` ones have other bytes under the same path. */
export interface FileChanges {
  added: number
  changed: number
  removed: number
}

/**
 * The files of the live version that a new version does not have. A file whose name differs only in a content hash
 * takes the place of the other.
 */
export interface Removal {
  files: number
  /** All files of the live version. */
  liveFiles: number
  /** Whether the top `index.html` is one of them. */
  index: boolean
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
export interface BundleTarget {
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

/** Response of a bundle: the received files, in the order of the tar. */
export interface BundleReceipt {
  files: UploadReceipt[]
}

export interface FinalizeRequest {
  versionId: string
  /** `false` keeps the version as a draft with a URL of its own. */
  live?: boolean
  /** Of an anonymous site: needed to make a draft live. */
  claimToken?: string
  /** Drops the version if its files, rules and settings equal those of the live version. */
  ifChanged?: boolean
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
  /** Of a version that was published as a preview. */
  preview?: PreviewAddress
  /** Present when the version was finalized before. */
  replayed?: true
  /**
   * The version equals the live one, or the one that the preview shows, and was dropped; the ids and URLs of the response
   * are those of that one.
   */
  unchanged?: true
  /** The title of the site, or of its start page; null without one. */
  title: string | null
  /** A free name that is like the title; of the first version of a site whose name was generated. */
  suggestedName?: string
  /** When the site expires; absent when it does not. */
  expiresAt?: string
  /** Problems in the files that do not break the site, such as an invalid line of `_redirects`. */
  warnings?: PublishWarning[]
}

/** Where a preview is. */
export interface PreviewAddress {
  name: string
  /** Shows the newest version of this name; never indexed. */
  url: string
  expiresAt: string
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

/** One request with an archive or an HTML page as its body, or with the contents of files in JSON. */
export interface ArchiveResponse extends FinalizeResponse, Partial<AnonymousExtras> {
  fileCount: number
  totalBytes: number
  /** Files, and folders with a final `/`, that were not published. */
  excluded: Exclusion[]
  /** What was guessed about the archive, in sentences. */
  notes?: string[]
  /** The top folder that all files shared, with a final `/`; its contents are the site. */
  removedFolder?: string
  /** Absent when the version removes no file of the live one. */
  removal?: Removal
  /** Compared with the live version, by path; absent when there is none. */
  changes?: FileChanges
}
