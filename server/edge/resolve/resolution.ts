import type { LocalizedPage } from '../respond/pages/error-pages.ts'
import type { RouteTable } from './route-table.ts'

/** What a host resolves to. `expired` is an expired site; every other deleted site is `not-found`. */
export type Resolution = { kind: 'not-found' } | { kind: 'expired' } | SuspendedSite | Redirect | ResolvedSite

/** A site that the operator has taken offline, or a version of it. */
export interface SuspendedSite {
  kind: 'suspended'
  preview: boolean
  page: LocalizedPage
}

/** A redirect of the requested path to another origin. */
export interface Redirect {
  kind: 'redirect'
  /** Scheme, host and port. */
  origin: string
  /**
   * Whether the host name is the same: an owner may reverse the redirect between a root domain and its `www`.
   */
  isSameName: boolean
}

/** A site, or one version of it at its own host. */
export interface ResolvedSite {
  kind: 'site'
  slug: string
  /** Whether it has no owner. */
  isAnonymous: boolean
  /** Under which its visits are counted. */
  visitsKey: string
  /** Milliseconds since 1970 from which the site is expired, even if the store does not record it yet. */
  expiresAt: number | null
  passwordHash: string | null
  /** The title for link previews, which the password form shows; null for a site without a password. */
  title: string | null
  /** Whether this is the host of one version. */
  preview: boolean
  /** Of a preview, and of a preview link of the owner: when it ends. */
  previewUntil?: number | undefined
  /** The version that a preview with live reload shows. */
  liveReload?: string | undefined
  /** Undefined when nothing is published there: no live version, or no such finalized version. */
  table: RouteTable | undefined
}
