/** The last 24 hours in intervals of half an hour, or the last 30 days in intervals of six hours. */
export const ACTIVITY_RANGES = ['24h', '30d'] as const

export type ActivityRange = (typeof ACTIVITY_RANGES)[number]

/** Counts of an interval, over all processes. */
export interface ActivityCounts {
  /** Requests to sites. */
  visits: number
  /** Requests to the API and the dashboard. */
  requests: number
  /** Bytes of responses to visitors. */
  bytes: number
  /** Responses with a status of 500 or more. */
  errors: number
  /** Versions that were finalized. */
  publishes: number
  /** Operations of the database. */
  storeOperations: number
  /** Their mean time. */
  storeMilliseconds: number
}

export interface ActivityPoint extends ActivityCounts {
  /** The beginning of the interval. */
  at: string
}

/** `GET /api/admin/activity?range=`, the oldest interval first; the newest one is incomplete. */
export interface Activity {
  range: ActivityRange
  intervalSeconds: number
  points: ActivityPoint[]
}

/** Numbers of everything, as they were counted in the last minutes. */
export interface Totals {
  sites: number
  /** Of their live versions. */
  siteBytes: number
  accounts: number
  domains: number
  versions: number
  /** Versions whose files are being uploaded, and the bytes that they declare. */
  pendingVersions: number
  pendingBytes: number
  /** Stored files, each content once, and their bytes without encodings. */
  blobs: number
  blobBytes: number
}

/** `GET /api/admin/overview`. */
export interface Overview {
  release: string
  totals: Totals
  /** When the totals were counted; `null` before the first count. */
  countedAt: string | null
  /** The disk of the data folder of the node that answers. */
  disk: {
    totalBytes: number
    freeBytes: number
    /** Free space below which publishing is refused. */
    reserveBytes: number
  }
  /** Memory of cached sites, files and responses of the process that answers. */
  cache: { usedBytes: number; limitBytes: number }
  /** What needs attention. */
  problems: { sweeps: number; certificates: number; domains: number; silentNodes: number }
}
