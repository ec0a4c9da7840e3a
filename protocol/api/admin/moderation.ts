import type { ReportReason } from '../reports.ts'
import type { AdminPage } from './page.ts'

/** What an operator says about an action on a site or an account. */
export interface ModerationReason {
  /** For the owner, who receives it by email. */
  reason: string
}

export interface SuspensionRequest extends ModerationReason {
  /** For visitors, on the page with status 451. */
  publicReason?: string
  /** For operators only. */
  note?: string
}

/** `GET /api/admin/sites/:slug`. */
export interface ModeratedSite {
  slug: string
  siteUrl: string
  title: string | null
  /** `null` for an anonymous site. */
  owner: { id: string; email: string } | null
  createdAt: string
  expiresAt: string | null
  /** Of a site in the trash. */
  deletedAt: string | null
  hosts: string[]
  /** Of the site itself; `null` while it is not suspended. */
  suspension: AdminSuspension | null
  /** Of its owner. */
  ownerSuspension: AdminSuspension | null
  /** Number of reports by visitors. */
  reports: number
}

export interface AdminSuspension {
  reason: string
  publicReason: string | null
  note: string | null
  since: string
}

/** The response to a suspension of an account, and its end. */
export interface AccountModerated {
  email: string
  /** What the operator should know, such as about their own account. */
  message?: string
}

export type BlockKind = 'network' | 'hash'

export interface BlockRequest {
  kind: BlockKind
  /** A network such as `192.0.2.0/24`, or the SHA-256 of a file. */
  value: string
  reason: string
  /** Seconds until it ends; absent for never. */
  seconds?: number
  /** Permits a network with the address of the request, or of local addresses. */
  force?: boolean
}

export interface BlockRecord {
  kind: BlockKind
  value: string
  reason: string
  createdAt: string
  expiresAt: string | null
}

/** `GET /api/admin/blocks`, newest first. */
export interface BlockList {
  blocks: BlockRecord[]
}

export type ReportState = 'open' | 'dismissed' | 'acted'

/** The reports of one site. */
export interface ReportedSite {
  slug: string
  siteUrl: string
  title: string | null
  /** The email address of the owner; `null` for an anonymous site. */
  ownerEmail: string | null
  isSuspended: boolean
  state: ReportState
  count: number
  firstAt: string
  lastAt: string
  /** When an operator last decided about them. */
  decidedAt: string | null
  /** The last ones, newest first. */
  latest: { at: string; reason: ReportReason; url: string; text: string; email: string | null }[]
}

/** `GET /api/admin/reports`, the last reported site first. */
export type ReportPage = AdminPage<ReportedSite>
