import { RANGES } from '../../visits/visits.ts'
import { flag, list, object, text, time, whole } from './schema.ts'
import { slug } from './site.ts'

const numbers = {
  requests: whole('Answers to GET and HEAD, of the site itself: pages, images and all else'),
  bytes: whole('Of their bodies, as sent'),
  visitors: whole('Browsers at an address that read a page; each counts once a day'),
}

const names = (description: string) =>
  list(object({ name: text('A path, or a host'), requests: whole('How often') }), description)

const range = text('How far back, default 7d', { enum: RANGES })

export const visitsQuery = object({}, { range })

export const visitsAnswer = object({
  slug,
  range,
  counted: flag('Whether visits are counted here; when not, there is nothing below'),
  from: time('Start of the first interval'),
  to: time('End of the last interval, which is still running'),
  interval: text('How long each is', { enum: ['hour', 'day'] }),
  totals: object(numbers),
  series: list(
    object({ at: time('Its start'), ...numbers }),
    'The intervals, oldest first, also those without visits',
  ),
  topPaths: names('What was asked for and found, the most requested first, at most 50'),
  referrers: names('Hosts of other pages that led here, at most 50'),
  missingPaths: names('What was asked for and not found, at most 50'),
})
