import type { LocalizedPage } from '../respond/pages/error-pages.ts'
import type { RouteTable } from './route-table.ts'

/** `expired` is an expired site; every other deleted site is `not-found`. */
export type Resolution = { kind: 'not-found' } | { kind: 'expired' } | SuspendedSite | Redirect | ResolvedSite

export interface SuspendedSite {
  kind: 'suspended'
  preview: boolean
  page: LocalizedPage
}

export interface Redirect {
  kind: 'redirect'
  /** Scheme, host and port. */
  origin: string
  /** Whether the host name is the same: an owner may reverse the redirect between a root domain and its `www`. */
  isSameName: boolean
}

export interface ResolvedSite {
  kind: 'site'
  slug: string
  isAnonymous: boolean
  /** Under which its visits are counted. */
  visitsKey: string
  /** Milliseconds since 1970. The store may not record the expiry yet. */
  expiresAt: number | null
  passwordHash: string | null
  /** For the password form; null for a site without a password. */
  title: string | null
  preview: boolean
  /** Of a preview, and of a preview link of the owner: when it ends. */
  previewUntil?: number | undefined
  liveReload?: string | undefined
  /** Of a live site; see `sites.reviewKey`. */
  reviewKey: string | null
  /** At the host of a review grant: with the script of the review in its documents. */
  framed?: RouteTable | undefined
  /** Undefined without a live or the requested version. */
  table: RouteTable | undefined
}
