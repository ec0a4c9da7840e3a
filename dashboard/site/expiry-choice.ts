import { TTL_SECONDS } from '../../protocol/api/publish.ts'

/** A choice of when a site expires: a duration from saving, a date, never, or as it is. */
export interface ExpiryChoice {
  span: 'unchanged' | 'never' | 'hour' | 'day' | 'week' | 'month' | 'date'
  /** Of a date: the value of a `datetime-local` input. */
  date: string
}

export const UNCHANGED_EXPIRY: ExpiryChoice = { span: 'unchanged', date: '' }

const HOUR_SECONDS = 3600
const DAY_SECONDS = 24 * HOUR_SECONDS

/** Durations in seconds. */
const SPANS: Partial<Record<ExpiryChoice['span'], number>> = {
  hour: HOUR_SECONDS,
  day: DAY_SECONDS,
  week: 7 * DAY_SECONDS,
  month: 30 * DAY_SECONDS,
}

/** The API's value: null for never, undefined when nothing valid is chosen. */
export function toTtlSeconds({ span, date }: ExpiryChoice, now: number): number | null | undefined {
  if (span === 'never') return null
  if (span !== 'date') return SPANS[span]
  const then = new Date(date).getTime()
  return Number.isNaN(then) ? undefined : Math.ceil((then - now) / 1000)
}

/** Why the choice cannot be saved. */
export function findExpiryError(choice: ExpiryChoice, now: number): string | undefined {
  if (choice.span !== 'date') return undefined
  const seconds = toTtlSeconds(choice, now)
  if (seconds == null) return 'Enter a date and time.'
  if (seconds < TTL_SECONDS.min) return 'Choose a time in the future.'
  return seconds > TTL_SECONDS.max ? 'Choose a time within a year.' : undefined
}
