import { slug } from './fields.schema.ts'
import {
  bool,
  integer,
  list,
  named,
  nullable,
  object,
  type Static,
  type StaticFields,
  text,
  time,
} from './schema.ts'
import { MAX_VISIT_NAME_LENGTH, VISIT_NAME_KINDS, VISIT_RANGES } from './visits.ts'

const range = text('The range, default 7d', { enum: VISIT_RANGES })
const timeZone = text('IANA time zone in which days begin; default UTC', { maxLength: 64 })
const name = (what: string) =>
  text(`${what}, as a list of the response has it: adds its requests by day as filtered`, {
    minLength: 1,
    maxLength: MAX_VISIT_NAME_LENGTH,
  })

/** One name of a list; at most one of these. */
export const visitsFilter = {
  path: name('A path that was found'),
  missing: name('A path that was not found'),
  referrer: name('A referring host'),
}
export type VisitFilter = Partial<StaticFields<typeof visitsFilter>>

export const visitsQuery = object({}, { range, timeZone, ...visitsFilter })

const countFields = {
  requests: integer('GET and HEAD requests to the site'),
  bytes: integer('Bytes of the response bodies, as sent'),
  visitors: integer(
    'Browsers that opened a page; each counts once a UTC day, in the hour of its first request',
  ),
}
const counts = named('VisitCounts', countFields)
export type VisitNumbers = Static<typeof counts>

const rankedName = named('RankedName', { name: text('A path, or a host'), requests: integer('Requests') })
export type VisitCount = Static<typeof rankedName>

/** The requests of one name. Names are counted by UTC day, apart from each other, without bytes and visitors. */
const filteredVisits = object({
  kind: text('What the name is', { enum: VISIT_NAME_KINDS }),
  name: text('The path or host of the query'),
  requests: integer('Its requests'),
  series: list(
    object({ at: time('Its start'), requests: integer('Requests') }),
    'The UTC days of the range, oldest first, also those without requests',
  ),
})
export type FilteredVisits = Static<typeof filteredVisits>

/** Successful responses are 200, 206 and 304. Names of 24 hours are those of today and yesterday. */
export const visitsResponse = named('Visits', {
  slug,
  range,
  counted: bool('Whether this service counts visits; otherwise the numbers are zero'),
  from: time('Start of the first interval'),
  to: time('End of the last interval, which is in progress'),
  interval: text('The length of an interval', { enum: ['hour', 'day'] }),
  timeZone,
  totals: counts,
  previous: nullable(
    counts,
    'The same numbers of as much time before `from`; null for 90 days, since earlier visits are not kept',
  ),
  series: list(
    object({ at: time('Its start'), ...countFields }),
    'The intervals, oldest first, also those without visits',
  ),
  topPaths: list(rankedName, 'Paths that were found, the most requested first, at most 50'),
  topPages: list(rankedName, 'Those of topPaths that are pages: without an extension, or HTML; at most 50'),
  topFiles: list(rankedName, 'All other paths, at most 50'),
  referrers: list(rankedName, 'Referring hosts other than the site itself, at most 50'),
  missingPaths: list(rankedName, 'Paths that were not found, at most 50'),
  filtered: nullable(
    filteredVisits,
    'The requests of the name in the query; null without one. All other fields are those of all visits',
  ),
})
export type Visits = Static<typeof visitsResponse>
