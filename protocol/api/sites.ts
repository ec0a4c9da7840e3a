// Sites and their versions (spec 2.1 and 4.7 to 4.12; contract, "Sites").

import type { FileChanges, FileEntry, PreviewAddress, SiteMetadata } from './publish.ts'

/** What the caller is to a site. A collaborator reads it and publishes to it; the owner also manages it. */
export type SiteRole = 'owner' | 'collaborator'

interface Membership {
  role: SiteRole
  /** Of a site that is shared with the caller. */
  ownerEmail?: string
}

/** Why the operator has taken a site, or all sites of an account, offline, and since when. */
export interface SuspensionNotice {
  reason: string
  since: string
}

/** Spec 2.1 and 4.7. */
export interface SiteDetails extends Membership {
  /** Of a site that the operator has suspended. */
  suspension?: SuspensionNotice
  slug: string
  siteUrl: string
  status: 'pending' | 'active'
  versionId: string
  currentVersionId: string | null
  pendingVersionId: string | null
  /** The site's own title, else that of its start page. */
  title: string | null
  description: string | null
  ogImagePath: string | null
  /** The metadata that the site has of its own; `null` leaves it to the document. */
  viewer: { title: string | null; description: string | null; ogImagePath: string | null }
  iconUrl: string | null
  thumbnailUrl: string | null
  spaMode: boolean
  hasPassword: boolean
  createdAt: string
  updatedAt: string
  expiresAt: string | null
  files: FileEntry[]
}

export interface SiteSummary extends Membership {
  /** Of a site that the operator has suspended. */
  suspension?: SuspensionNotice
  slug: string
  siteUrl: string
  status: 'pending' | 'active'
  /** The site's own title, else that of its start page. */
  title: string | null
  hasPassword: boolean
  /** What most of the site is, for an icon; `null` before the first version is live. */
  kind: SiteKind | null
  /** URL of its image: the Open Graph image, the icon, or its only image; `null` without any. */
  imageUrl: string | null
  /** URL of its icon; `null` without one, and for a site with a password. */
  iconUrl: string | null
  /** URL of a picture of the live version; `null` without one. */
  thumbnailUrl: string | null
  versionId: string
  currentVersionId: string | null
  pendingVersionId: string | null
  fileCount: number
  totalBytes: number
  createdAt: string
  updatedAt: string
  expiresAt: string | null
  /** Of a site in the trash: when it was deleted, and when it will be deleted permanently. */
  deletedAt?: string
  deletedUntil?: string
}

export type SiteKind = 'page' | 'image' | 'video' | 'audio' | 'document' | 'files'

export interface SiteList {
  /** While the operator has suspended the account of the caller. */
  suspension?: SuspensionNotice
  publishes: SiteSummary[]
  nextCursor: string | null
}

export interface MetadataRequest extends SiteMetadata {
  /** 1 to 200 characters; `null` removes the password. */
  password?: string | null
}

/** `POST …/:slug/preview`: shows a site to its owner without its password. */
export interface PreviewLink {
  url: string
  expiresAt: string
}

/** `GET /api/v1/names/:name`. */
export interface NameCheck {
  name: string
  available: boolean
  /** Why it is not, as a sentence. */
  reason?: string
}

/** `PATCH …/:slug/name { name }`. */
export interface RenameResponse {
  slug: string
  siteUrl: string
  formerSlug: string
  /** `null` when the name did not change. */
  redirectsUntil: string | null
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

/** The account of this address may publish to a site. */
export interface Collaborator {
  email: string
  addedAt: string
}

/** `GET …/:slug/collaborators`. */
export interface CollaboratorList {
  slug: string
  ownerEmail: string
  /** In the order in which they were added. */
  collaborators: Collaborator[]
}

/** `DELETE …/:slug/collaborators { email }`. */
export interface RemoveCollaboratorResponse {
  slug: string
  email: string
  removed: true
}

/** Maximum number of collaborators of a site. */
export const MAX_COLLABORATORS = 20

export interface ClaimRequest {
  claimToken: string
  /** A name that the site gets with the claim; the former one redirects for 30 days. */
  name?: string | undefined
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
  iconUrl: string | null
  thumbnailUrl: string | null
  fileCount: number
  totalBytes: number
  createdAt: string
  expiresAt: string | null
  claimed: false
  /** The displayed version; `null` while there is none. */
  currentVersionId: string | null
}

export interface VersionSummary {
  versionId: string
  createdAt: string
  /** When it first went live; `null` for a draft. */
  publishedAt: string | null
  /** The address of its author; `null` before the site had an owner, and when the account was deleted. */
  publishedBy: string | null
  /** Its credential: an API key, the dashboard, none; `null` when it was not recorded. */
  publishedWith: PublishedWith | null
  /** The program of its author, as it names itself in `X-Slipway-Client`; `null` when it did not. */
  publishedClient: string | null
  fileCount: number
  totalBytes: number
  current: boolean
  previewUrl: string
  /** The preview that shows it; `null` for none. */
  preview: PreviewAddress | null
  /** What its publisher noted about it. */
  message: string | null
  thumbnailUrl: string | null
  /** Number of files that differ from the version that it replaced; `null` when no earlier one is kept. */
  changes: FileChanges | null
}

export type PublishedWith = 'key' | 'dashboard' | 'anonymous'

export interface VersionList {
  versions: VersionSummary[]
}

/** `GET …/versions/:versionId`. */
export interface VersionDetails extends VersionSummary {
  files: FileEntry[]
  /** The version that it replaced, with which the paths below are compared; the live one for a draft. */
  comparedWith: string | null
  added: string[]
  changed: string[]
  removed: string[]
}

/** Maximum size of a thumbnail. */
export const MAX_THUMBNAIL_BYTES = 20_000

/** `PUT …/versions/:versionId/thumbnail`. */
export interface ThumbnailResponse {
  slug: string
  versionId: string
  thumbnailUrl: string
}

export interface DeleteVersionResponse {
  slug: string
  versionId: string
  deleted: true
}
