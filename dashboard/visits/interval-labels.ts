import type { Visits } from '../../protocol/api/visits.ts'

type Interval = Visits['interval']

/** The start of an interval, in the time zone and the language of the browser. */
export function shortLabel(at: string, interval: Interval): string {
  return interval === 'hour' ? clock(at) : dayLabel(at)
}

/** The same without context; `isRunning` for the current interval. */
export function longLabel(at: string, interval: Interval, isRunning: boolean): string {
  const words = `${weekday(at)}, ${shortLabel(at, interval)}`
  return isRunning ? `${words}, so far` : words
}

/** "21 Nov"; in UTC for names, which are counted by UTC day. */
export function dayLabel(at: string, timeZone?: 'UTC'): string {
  return new Date(at).toLocaleDateString([], {
    day: 'numeric',
    month: 'short',
    ...(timeZone && { timeZone }),
  })
}

function clock(at: string): string {
  return new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
}

function weekday(at: string): string {
  return new Date(at).toLocaleDateString([], { weekday: 'short' })
}
