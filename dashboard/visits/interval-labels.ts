import type { Visits } from '../../protocol/api/visits.ts'

type Interval = Visits['interval']

/** Hours are in the local time zone; days are in UTC, as they are counted. */
export function shortLabel(at: string, interval: Interval): string {
  return interval === 'hour' ? clock(at) : dayLabel(at)
}

/** The same without context; `isRunning` for the current interval. */
export function longLabel(at: string, interval: Interval, isRunning: boolean): string {
  const words =
    interval === 'hour' ? `${weekday(at)}, ${clock(at)}` : `${weekday(at, 'UTC')}, ${dayLabel(at)}`
  return isRunning ? `${words}, so far` : words
}

/** "21 Nov", in UTC. */
export function dayLabel(at: string): string {
  return new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
}

function clock(at: string): string {
  return new Date(at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
}

function weekday(at: string, timeZone?: string): string {
  return new Date(at).toLocaleDateString('en-GB', { weekday: 'short', ...(timeZone && { timeZone }) })
}
