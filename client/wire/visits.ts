// Visits of a site: `GET /api/v1/publish/:slug/analytics?range=`.

export type VisitRange = '24h' | '7d' | '30d' | '90d'

/**
 * What the service counted for a site, in UTC. A visitor is counted once a day, in the hour of the first request; nobody is
 * known from one day to the next.
 */
export interface Visits {
  slug: string
  range: VisitRange
  /** Whether visits are counted; when not, everything below is empty. */
  counted: boolean
  /** The start of the first interval and the end of the last one, which is still running. */
  from: string
  to: string
  interval: 'hour' | 'day'
  totals: VisitNumbers
  /** One for each interval, those without visits too, oldest first. */
  series: (VisitNumbers & { at: string })[]
  /**
   * Of answers that were found (200, 206, 304), the most requested first, at most 50. Names are counted by the day: those of 24
   * hours are those of today and yesterday.
   */
  topPaths: VisitCount[]
  /** Hosts of pages that led here, other than the site itself, at most 50. */
  referrers: VisitCount[]
  /** Paths that were asked for and not found, at most 50. */
  missingPaths: VisitCount[]
}

export interface VisitNumbers {
  requests: number
  /** Of bodies, as sent. */
  bytes: number
  visitors: number
}

export interface VisitCount {
  /** A path, or a host. */
  name: string
  requests: number
}
