import { useEffect, useState } from 'preact/hooks'
import { serverNow } from '../api/server-clock.ts'
import { formatMoment, formatRelative, formatRemaining } from '../app/format-time.ts'

/** A time in the past: "3 hours ago", with the exact time as a tooltip. */
export function RelativeTime({ at }: { at: string }) {
  const now = useNow(60_000)
  return (
    <time dateTime={at} title={formatMoment(at)}>
      {formatRelative(at, now)}
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
