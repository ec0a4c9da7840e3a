import {
  integer,
  list,
  named,
  nullable,
  number,
  object,
  type Static,
  type StaticFields,
  text,
  time,
} from '../schema.ts'
import { ACTIVITY_RANGES } from './overview.ts'

const range = text('The last 24 hours in half hours, or the last 30 days in intervals of six hours', {
  enum: ACTIVITY_RANGES,
})

export const activityQuery = object({}, { range })

const counts = {
  visits: integer('Requests to sites'),
  requests: integer('Requests to the API and the dashboard'),
  bytes: integer('Bytes of responses to visitors'),
  errors: integer('Responses with a status of 500 or more'),
  publishes: integer('Versions that were finalized'),
  storeOperations: integer('Operations of the database'),
  storeMilliseconds: number('Their mean time'),
}
/** Counts of an interval, over all processes. */
export type ActivityCounts = StaticFields<typeof counts>

const point = object({ at: time('The beginning of the interval'), ...counts })
export type ActivityPoint = Static<typeof point>

export const activity = named('Activity', {
  range,
  intervalSeconds: integer('Length of an interval'),
  points: list(point, 'The oldest one first; the newest one is incomplete'),
})

export type Activity = Static<typeof activity>

export const totals = object({
  sites: integer('Sites'),
  siteBytes: integer('Bytes of their live versions'),
  accounts: integer('Accounts'),
  domains: integer('Custom domains'),
  versions: integer('Finalized versions'),
  pendingVersions: integer('Versions whose files are being uploaded'),
  pendingBytes: integer('Bytes that these declare'),
  blobs: integer('Stored files, each content once'),
  blobBytes: integer('Their bytes, without encodings'),
})
export type Totals = Static<typeof totals>

export const overview = named('Overview', {
  release: text('Version of the program'),
  totals,
  countedAt: nullable(time('When the totals were counted; null before the first count')),
  disk: object({
    totalBytes: integer('Size of the disk of the data folder'),
    freeBytes: integer('Free space'),
    reserveBytes: integer('Free space below which publishing is refused'),
  }),
  cache: object({
    usedBytes: integer('Memory of cached sites, files and responses of the process that answers'),
    limitBytes: integer('Its limit'),
  }),
  problems: object({
    sweeps: integer('Sweeps whose last run failed'),
    backups: integer('Backups that failed since the last successful one'),
    certificates: integer('Certificates that could not be issued or renewed, at most 1000'),
    domains: integer('Active domains that do not point here, at most 1000'),
    silentNodes: integer('Nodes whose reports are overdue'),
  }),
})
export type Overview = Static<typeof overview>
