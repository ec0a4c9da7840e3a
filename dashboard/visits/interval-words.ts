import type { Visits } from '../../client/wire/visits.ts'

type Interval = Visits['interval']

/** Hours are told by this machine's clock; days are those of UTC, as they are counted. */
export function shortOf(at: string, interval: Interval): string {
  return interval === 'hour' ? clock(at) : dayOf(at)
}

/** The same, where it stands alone; `isRunning` when there is more to come of it. */
export function longOf(at: string, interval: Interval, isRunning: boolean): string {
  const words = interval === 'hour' ? `${weekday(at)}, ${clock(at)}` : `${weekday(at, 'UTC')}, ${dayOf(at)}`
  return isRunning ? `${words}, so far` : words
}

/** "21 Nov", in UTC. */
export function dayOf(at: string): string {
  return new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
}

function clock(at: string): string {
  return new Date(at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
}

function weekday(at: string, timeZone?: string): string {
  return new Date(at).toLocaleDateString('en-GB', { weekday: 'short', ...(timeZone && { timeZone }) })
}
