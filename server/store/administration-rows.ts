// The tables of the administration.

/** A change that an administrator made. */
export interface AuditRow {
  id: string
  at: number
  /** The account; null for the command line. */
  actor_id: string | null
  /** The email address of the account at that time, or `command line`. */
  actor: string
  /** The network of the request; null for the command line. */
  network: string | null
  action: string
  target: string
  /** JSON. */
  details: string | null
}

/** See `Figures`. */
export interface FigureRow {
  kind: 'site' | 'account' | 'domain'
  id: string
  bytes: number
  visits: number
  sites: number
  title: string | null
}

/** See `ActivityEntry`. */
export interface ActivityRow {
  width: number
  at: number
  name: string
  value: number
}

/** See `SweepRun`. */
export interface SweepRunRow {
  name: string
  started_at: number
  duration_ms: number
  items: number
  error: string | null
  failures: number
  failed_at: number | null
}
