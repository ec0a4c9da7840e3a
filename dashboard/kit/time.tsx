import { useEffect, useState } from 'preact/hooks'
import { serverNow } from '../api/server-clock.ts'
import {
  formatDay,
  formatMoment,
  formatRelative,
  formatRemaining,
  isWeekOld,
  TIME_LOCALE,
} from '../app/format-time.ts'

/** A time in the past: "3 hours ago", with the exact time as a tooltip. */
export function RelativeTime({ at }: { at: string }) {
  const now = useNow(60_000)
  return (
    <time dateTime={at} title={formatMoment(at)} lang={isWeekOld(at, now) ? TIME_LOCALE : undefined}>
      {formatRelative(at, now)}
    </time>
  )
}

interface LocalTimeProps {
  at: string
  format?: (iso: string) => string
}

/** A date or time in the browser's locale; by default a date. */
export function LocalTime({ at, format = formatDay }: LocalTimeProps) {
  return (
    <time dateTime={at} lang={TIME_LOCALE}>
      {format(at)}
    </time>
  )
}

/** A countdown by the server's clock; `over` when it has passed. */
export function TimeLeft({ until, over }: { until: string; over: string }) {
  const now = useNow(1000)
  const remaining = Date.parse(until) - now
  return (
    <time dateTime={until} title={formatMoment(until)} role="timer">
      {remaining > 0 ? formatRemaining(remaining) : over}
    </time>
  )
}

/** The server's time, updated at this interval (milliseconds). */
export function useNow(every: number): number {
  const [now, setNow] = useState(serverNow)
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow), every)
    return () => clearInterval(timer)
  }, [every])
  return now
}

/** A value for a datetime-local input: "2026-11-28T18:05", in the local time zone. */
export function toLocalInputValue(milliseconds: number): string {
  const date = new Date(milliseconds)
  return new Date(milliseconds - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
