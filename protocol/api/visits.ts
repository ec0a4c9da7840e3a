// Visits of a site: `GET /api/v1/publish/:slug/analytics?range=&timeZone=&path=|missing=|referrer=`.

export type VisitRange = '24h' | '7d' | '30d' | '90d'

/** The lists of names that are counted: found paths, missing paths and referring hosts. */
export const VISIT_NAME_KINDS = ['path', 'missing', 'referrer'] as const

export type VisitNameKind = (typeof VISIT_NAME_KINDS)[number]

/** One name, as a list has it. At most one. */
export type VisitFilter = { [kind in VisitNameKind]?: string | undefined }

/** The requests of one name. Names are counted by UTC day, apart from each other, without bytes and visitors. */
export interface FilteredVisits {
  kind: VisitNameKind
  name: string
  requests: number
  /** One entry per UTC day of the range, including empty ones, oldest first. */
  series: { at: string; requests: number }[]
}

/**
 * Visits of a site. A visitor is counted once a UTC day, in the hour of the first request, and cannot be
 * recognized from one day to the next.
 */
export interface Visits {
  slug: string
  range: VisitRange
  /** IANA name of the time zone in which days begin. */
  timeZone: string
  /** Whether visits are counted; otherwise everything below is empty. */
  counted: boolean
  /** The start of the first interval and the end of the last one, which is the current one. */
  from: string
  to: string
  interval: 'hour' | 'day'
  totals: VisitNumbers
  /** The same numbers of as much time before `from`; `null` for 90 days, since earlier visits are not kept. */
  previous: VisitNumbers | null
  /** One entry per interval, including empty ones, oldest first. */
  series: (VisitNumbers & { at: string })[]
  /**
   * Of successful responses (200, 206, 304), the most requested first, at most 50. Names are counted by day:
   * those of 24 hours are those of today and yesterday.
   */
  topPaths: VisitCount[]
  /** Those of pages: without an extension, or of HTML; at most 50. */
  topPages: VisitCount[]
  /** All others, at most 50. */
  topFiles: VisitCount[]
  /** Hosts of referring pages other than the site itself, at most 50. */
  referrers: VisitCount[]
  /** Requested paths that were not found, at most 50. */
  missingPaths: VisitCount[]
  /** The requests of the name in the query; `null` without one. All other fields are those of all visits. */
  filtered: FilteredVisits | null
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
