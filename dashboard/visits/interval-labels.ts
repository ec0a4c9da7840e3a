import type { Visits } from '../../protocol/api/visits.schema.ts'

type Interval = Visits['interval']

/** In UTC for names, which are counted by UTC day; else in the time zone of the browser. */
type TimeZone = 'UTC' | undefined

/** The start of an interval, in the language of the browser. */
export function shortLabel(at: string, interval: Interval, timeZone: TimeZone): string {
  return interval === 'hour' ? clock(at) : dayLabel(at, timeZone)
}

/** The same without context; `isRunning` for the current interval. */
export function longLabel(at: string, interval: Interval, timeZone: TimeZone, isRunning: boolean): string {
  const words = `${weekday(at, timeZone)}, ${shortLabel(at, interval, timeZone)}`
  return isRunning ? `${words}, so far` : words
}

/** "21 Nov". */
export function dayLabel(at: string, timeZone: TimeZone): string {
  return new Date(at).toLocaleDateString([], {
    day: 'numeric',
    month: 'short',
    ...(timeZone && { timeZone }),
  })
}

function clock(at: string): string {
  return new Date(at).toLocaleTimeString([], { hour: 'numeric', minute: '2-digit' })
}

function weekday(at: string, timeZone: TimeZone): string {
  return new Date(at).toLocaleDateString([], { weekday: 'short', ...(timeZone && { timeZone }) })
}
