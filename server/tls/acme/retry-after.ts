/** The form of a date that HTTP has now (RFC 9110, 5.6.7). */
const DATE = /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/

/** The milliseconds that a Retry-After (RFC 9110, 10.2.3) asks to wait; undefined when it does not make sense. */
export function retryAfter(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d{1,10}$/.test(text)) return Number(text) * 1000
  const date = DATE.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
