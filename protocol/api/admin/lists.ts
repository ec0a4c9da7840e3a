import type { Exceptions } from '../account.ts'
import type { AdminSuspension } from './moderation.ts'
import type { AdminPage } from './page.ts'

/** How a list is sorted: the newest, the largest or the most visited first. */
export const LIST_ORDERS = ['age', 'bytes', 'visits'] as const

export type ListOrder = (typeof LIST_ORDERS)[number]

/** Query of the lists of sites, accounts and domains. */
export interface ListQuery {
  /** Default `age`. */
  sort?: ListOrder
  /**
   * The beginning of a slug, a title, a domain or an email address: the first matches, in one page. The list of accounts
   * compares email addresses only.
   */
  q?: string
  limit?: number
  cursor?: string
}

/** What a site, an account or a domain uses, as it was counted in the last minutes. */
interface Counted {
  /** Of the live versions. */
  bytes: number
  /** Requests of the last 30 days. */
  visits: number
}

export interface AdminSite extends Counted {
  slug: string
  siteUrl: string
  title: string | null
  /** `null` for an anonymous site. */
  owner: { id: string; email: string } | null
  /** `pending` before the first finalize. */
  status: 'active' | 'pending' | 'expired'
  hasPassword: boolean
  createdAt: string
  updatedAt: string
  expiresAt: string | null
  /** Of the site itself; `null` while it is not suspended. */
  suspension: AdminSuspension | null
  /** Whether the account that it belongs to is suspended. */
  isOwnerSuspended: boolean
}

export interface AdminAccount extends Counted {
  id: string
  email: string
  plan: string
  /** The limits that differ from those of the plan. */
  limits: Exceptions
  /** `null` while it is not suspended. */
  suspension: AdminSuspension | null
  administrator: boolean
  /** Whether its data are being deleted. */
  isBeingDeleted: boolean
  createdAt: string
  sites: number
}

export interface AdminDomain extends Counted {
  domain: string
  slug: string
  owner: { id: string; email: string } | null
  status: 'active' | 'pending'
  /** Why it is pending, or its current problem. */
  problem: string | null
  createdAt: string
  checkedAt: string | null
}

export interface AdminCertificate {
  /** A domain, the host of the service, or a wildcard of the domain of sites. */
  name: string
  issuedAt: string | null
  expiresAt: string | null
  renewsAt: string | null
  /** The next step of its order or renewal. */
  nextStepAt: string | null
  /** Failures in a row. */
  failures: number
  problem: string | null
}

/** A recurring background task. */
export interface AdminSweep {
  name: string
  description: string
  intervalSeconds: number
  /** `null` before the first run. */
  lastRun: {
    startedAt: string
    durationMs: number
    /** What it affected. */
    items: number
    /** `null` after a success. */
    error: string | null
  } | null
  /** Failures in a row. */
  failures: number
  failedAt: string | null
}

/** A process that serves, in a fleet. */
export interface AdminNode {
  id: string
  host: string
  release: string
  startedAt: string
  seenAt: string
  /** Whether its reports are overdue. */
  isSilent: boolean
  /** Age of its view of changes of other nodes; `null` when it is not known. */
  lagSeconds: number | null
  /** Its reported metrics by name. */
  numbers: Record<string, number>
}

export type AdminSites = AdminPage<AdminSite>
export type AdminAccounts = AdminPage<AdminAccount>
export type AdminDomains = AdminPage<AdminDomain>
export type AdminCertificates = AdminPage<AdminCertificate>

export interface AdminSweeps {
  sweeps: AdminSweep[]
}

export interface AdminNodes {
  nodes: AdminNode[]
}
