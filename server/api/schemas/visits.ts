import { VISIT_NAME_KINDS } from '../../../protocol/api/visits.ts'
import { RANGES } from '../../analytics/report.ts'
import { BUFFER_LIMITS } from '../../analytics/stats-buffer.ts'
import { bool, integer, list, named, nullable, object, text, time } from './schema.ts'
import { slug } from './site.ts'

const countFields = {
  requests: integer('GET and HEAD requests to the site'),
  bytes: integer('Bytes of the response bodies, as sent'),
  visitors: integer('Browsers that opened a page; each counts once a day'),
}

const names = (description: string) =>
  list(
    named('RankedName', object({ name: text('A path, or a host'), requests: integer('Requests') })),
    description,
  )

const range = text('The range, default 7d', { enum: RANGES })

const timeZone = text('IANA time zone in which days begin; default UTC', { maxLength: 64 })

const name = (what: string) =>
  text(`${what}, as a list of the response has it: adds its requests by day as filtered`, {
    minLength: 1,
    maxLength: BUFFER_LIMITS.name,
  })

/** One name of a list. */
export const visitsFilter = {
  path: name('A path that was found'),
  missing: name('A path that was not found'),
  referrer: name('A referring host'),
}

export const visitsQuery = object({}, { range, timeZone, ...visitsFilter })

export const visitsResponse = named(
  'Visits',
  object({
    slug,
    range,
    counted: bool('Whether this service counts visits; otherwise the numbers are zero'),
    from: time('Start of the first interval'),
    to: time('End of the last interval, which is in progress'),
    interval: text('The length of an interval', { enum: ['hour', 'day'] }),
    timeZone,
    totals: named('VisitCounts', object(countFields)),
    previous: nullable(named('VisitCounts', object(countFields))),
    series: list(
      object({ at: time('Its start'), ...countFields }),
      'The intervals, oldest first, also those without visits',
    ),
    topPaths: names('Paths that were found, the most requested first, at most 50'),
    topPages: names('Those of topPaths that are pages: without an extension, or HTML; at most 50'),
    topFiles: names('All other paths, at most 50'),
    referrers: names('Referring hosts, at most 50'),
    missingPaths: names('Paths that were not found, at most 50'),
    filtered: nullable(
      object({
        kind: text('What the name is', { enum: VISIT_NAME_KINDS }),
        name: text('The path or host of the query'),
        requests: integer('Its requests'),
        series: list(
          object({ at: time('Its start'), requests: integer('Requests') }),
          'The UTC days of the range, oldest first, also those without requests',
        ),
      }),
    ),
  }),
)
