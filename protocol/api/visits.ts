// Visits of a site: `GET /api/v1/publish/:slug/analytics?range=`.

export type VisitRange = '24h' | '7d' | '30d' | '90d'

/**
 * Visits of a site, in UTC. A visitor is counted once a day, in the hour of the first request, and cannot be
 * recognised from one day to the next.
 */
export interface Visits {
  slug: string
  range: VisitRange
  /** Whether visits are counted; otherwise everything below is empty. */
  counted: boolean
  /** The start of the first interval and the end of the last one, which is the current one. */
  from: string
  to: string
  interval: 'hour' | 'day'
  totals: VisitNumbers
  /** One entry per interval, including empty ones, oldest first. */
  series: (VisitNumbers & { at: string })[]
  /**
   * Of successful responses (200, 206, 304), the most requested first, at most 50. Names are counted by day:
   * those of 24 hours are those of today and yesterday.
   */
  topPaths: VisitCount[]
  /** Hosts of referring pages other than the site itself, at most 50. */
  referrers: VisitCount[]
  /** Requested paths that were not found, at most 50. */
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
