const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const LONG_DAY = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)'
const MONTH = `(?<month>${MONTHS.join('|')})`
const TIME = '(?<hour>[01]\\d|2[0-3]):(?<minute>[0-5]\\d):(?<second>[0-5]\\d|60)'

/** RFC 9110, 5.6.7: the form of today, and the two that recipients must still read. */
const FORMS = [
  new RegExp(`^${DAY}, (?<day>\\d\\d) ${MONTH} (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(`^${LONG_DAY}, (?<day>\\d\\d)-${MONTH}-(?<year>\\d\\d) ${TIME} GMT$`),
  new RegExp(`^${DAY} ${MONTH} (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`),
]

/** Milliseconds since 1970 of an HTTP date, or undefined when it is none; such a header is to be ignored. */
export function readHttpDate(text: string): number | undefined {
  for (const form of FORMS) {
    const parts = form.exec(text)?.groups
    if (parts) return timeOf(parts as Record<Part, string>)
  }
  return undefined
}

type Part = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second'

function timeOf({ year, month, day, hour, minute, second }: Record<Part, string>): number | undefined {
  const monthIndex = MONTHS.indexOf(month)
  const date = new Date(
    Date.UTC(fullYear(year), monthIndex, Number(day), Number(hour), Number(minute), Number(second)),
  )
  const midnight = Date.UTC(fullYear(year), monthIndex, Number(day))
  return new Date(midnight).getUTCDate() === Number(day) ? date.getTime() : undefined
}

/** Two digits that would lie more than 50 years ahead mean the century before. */
function fullYear(text: string): number {
  if (text.length === 4) return Number(text)
  const now = new Date().getUTCFullYear()
  const year = now - (now % 100) + Number(text)
  return year > now + 50 ? year - 100 : year
}
