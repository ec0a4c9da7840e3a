import { RANGES } from '../../analytics/report.ts'
import { bool, integer, list, object, text, time } from './schema.ts'
import { slug } from './site.ts'

const countFields = {
  requests: integer('Answers to GET and HEAD, of the site itself: pages, images and all else'),
  bytes: integer('Of their bodies, as sent'),
  visitors: integer('Browsers at an address that read a page; each counts once a day'),
}

const names = (description: string) =>
  list(object({ name: text('A path, or a host'), requests: integer('How often') }), description)

const range = text('How far back, default 7d', { enum: RANGES })

export const visitsQuery = object({}, { range })

export const visitsResponse = object({
  slug,
  range,
  counted: bool('Whether visits are counted here; when not, there is nothing below'),
  from: time('Start of the first interval'),
  to: time('End of the last interval, which is still running'),
  interval: text('How long each is', { enum: ['hour', 'day'] }),
  totals: object(countFields),
  series: list(
    object({ at: time('Its start'), ...countFields }),
    'The intervals, oldest first, also those without visits',
  ),
  topPaths: names('What was asked for and found, the most requested first, at most 50'),
  referrers: names('Hosts of other pages that led here, at most 50'),
  missingPaths: names('What was asked for and not found, at most 50'),
})
