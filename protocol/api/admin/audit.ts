import type { AdminPage } from './page.ts'

/** A change that an administrator made. */
export interface AuditEntry {
  id: string
  at: string
  /** The email address of the account at that time, or `command line`. */
  actor: string
  /** The network of the request: a /24 of IPv4 or a /48 of IPv6; `null` for the command line. */
  network: string | null
  /** What was changed, a dot, and the verb, such as `site.suspend`. */
  action: string
  /** A slug, an email address, a domain or another name. */
  target: string
  details?: Record<string, unknown>
}

/** `GET /api/admin/audit`, newest first. */
export type AuditPage = AdminPage<AuditEntry>

/** `PUT /api/admin/accounts/:id/administrator`, and its response. */
export interface AdministratorChange {
  administrator: boolean
}
