const MONTH_NAMES = 'Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec'
const MONTHS = MONTH_NAMES.split('|')
const DAY_PATTERN = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const LONG_DAY_PATTERN = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)'
const MONTH_PATTERN = `(?<month>${MONTH_NAMES})`
const TIME_PATTERN = '(?<hour>[01]\\d|2[0-3]):(?<minute>[0-5]\\d):(?<second>[0-5]\\d|60)'

/** RFC 9110, 5.6.7: the current format and the two obsolete ones. */
const FORMS = [
  new RegExp(`^${DAY_PATTERN}, (?<day>\\d\\d) ${MONTH_PATTERN} (?<year>\\d{4}) ${TIME_PATTERN} GMT$`),
  new RegExp(`^${LONG_DAY_PATTERN}, (?<day>\\d\\d)-${MONTH_PATTERN}-(?<year>\\d\\d) ${TIME_PATTERN} GMT$`),
  new RegExp(`^${DAY_PATTERN} ${MONTH_PATTERN} (?<day>[ \\d]\\d) ${TIME_PATTERN} (?<year>\\d{4})$`),
]

/**
 * Parses an HTTP date to milliseconds since 1970; undefined when it is invalid: such a header must be
 * ignored.
 */
export function readHttpDate(text: string): number | undefined {
  for (const form of FORMS) {
    const parts = form.exec(text)?.groups
    if (parts) return toTime(parts as Record<DatePart, string>)
  }
  return undefined
}

type DatePart = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second'

function toTime({ year, month, day, hour, minute, second }: Record<DatePart, string>): number | undefined {
  const monthIndex = MONTHS.indexOf(month)
  const date = new Date(
    Date.UTC(fullYear(year), monthIndex, Number(day), Number(hour), Number(minute), Number(second)),
  )
  const midnight = Date.UTC(fullYear(year), monthIndex, Number(day))
  return new Date(midnight).getUTCDate() === Number(day) ? date.getTime() : undefined
}

/** A two-digit year more than 50 years in the future belongs to the previous century. */
function fullYear(text: string): number {
  if (text.length === 4) return Number(text)
  const now = new Date().getUTCFullYear()
  const year = now - (now % 100) + Number(text)
  return year > now + 50 ? year - 100 : year
}
