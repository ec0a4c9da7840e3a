import { pluralize } from '../../protocol/format.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

// The language of the pages is English, and so are numbers: "1.000 files" would be one file to some readers. Dates and
// times are written as in the browser's locale, in its order and with 12 or 24 hours. An element with a date has the
// locale as its `lang` (`LocalTime`), because screen readers pronounce its text by that.

/** The locale of dates and times. */
export const TIME_LOCALE = new Intl.DateTimeFormat().resolvedOptions().locale

/** "15:00", or "15:00 tomorrow": a near time, in the local time zone. */
export function formatClock(milliseconds: number): string {
  const date = new Date(milliseconds)
  const time = date.toLocaleTimeString(undefined, { timeStyle: 'short' })
  return date.toDateString() === new Date().toDateString() ? time : `${time} tomorrow`
}

/** "just now", "5 minutes ago", "3 hours ago", "yesterday", "12 March 2026". */
export function formatRelative(iso: string, now: number): string {
  const since = Math.max(0, now - Date.parse(iso))
  if (since < MINUTE_MS) return 'just now'
  if (since < HOUR_MS) return `${pluralize(Math.floor(since / MINUTE_MS), 'minute')} ago`
  if (since < DAY_MS) return `${pluralize(Math.floor(since / HOUR_MS), 'hour')} ago`
  if (isWeekOld(iso, now)) return formatDay(iso)
  const days = Math.round((startOfDay(now) - startOfDay(Date.parse(iso))) / DAY_MS)
  return days === 1 ? 'yesterday' : `${days} days ago`
}

/** In the local time zone, in which a day can have 23 or 25 hours. */
function startOfDay(milliseconds: number): number {
  return new Date(milliseconds).setHours(0, 0, 0, 0)
}

/** Whether `formatRelative` writes the date. */
export function isWeekOld(iso: string, now: number): boolean {
  return now - Date.parse(iso) >= 7 * DAY_MS
}

/** "12 March 2026", in the local time zone. */
export function formatDay(iso: string): string {
  return new Date(iso).toLocaleDateString(undefined, { dateStyle: 'long' })
}

/** "12 March 2026 at 15:04", in the local time zone. */
export function formatDayAndTime(iso: string): string {
  return new Date(iso).toLocaleString(undefined, { dateStyle: 'long', timeStyle: 'short' })
}

/** "12 Mar, 15:04", in the local time zone, with the year unless it is this one. */
export function formatShort(iso: string): string {
  const date = new Date(iso)
  const year = date.getFullYear() === new Date().getFullYear() ? undefined : 'numeric'
  return date.toLocaleString(undefined, {
    year,
    month: 'short',
    day: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
  })
}

/** "12 March 2026 at 15:04:05", in the local time zone. */
export function formatMoment(iso: string): string {
  return new Date(iso).toLocaleString(undefined, { dateStyle: 'long', timeStyle: 'medium' })
}

/** "15:04:05", in the local time zone. */
export function formatTime(iso: string): string {
  return new Date(iso).toLocaleTimeString(undefined, { timeStyle: 'medium' })
}

/** A remaining time: "3 days", "24 h", "23 h 5 min", "41 min 7 s", "12 s". */
export function formatRemaining(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000))
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  if (hours >= 48) return pluralize(Math.round(seconds / (24 * 3600)), 'day')
  if (hours > 0) return minutes > 0 ? `${hours} h ${minutes} min` : `${hours} h`
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`
}
