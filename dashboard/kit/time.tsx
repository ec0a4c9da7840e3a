import { useEffect, useState } from 'preact/hooks'
import { serverNow } from '../api/server-clock.ts'
import { ago, left, moment } from '../app/time-words.ts'

/** When something was: "3 hours ago", and the exact moment for who points at it. */
export function Ago({ at }: { at: string }) {
  const now = useNow(60_000)
  return (
    <time dateTime={at} title={moment(at)}>
      {ago(at, now)}
    </time>
  )
}

/** How long something still lasts, counting down by the server's clock; `over` in its place when it is past. */
export function TimeLeft({ until, over }: { until: string; over: string }) {
  const now = useNow(1000)
  const remaining = Date.parse(until) - now
  return (
    <time dateTime={until} title={moment(until)} role="timer">
      {remaining > 0 ? left(remaining) : over}
    </time>
  )
}

/** The server's time, looked at this often (milliseconds). */
export function useNow(every: number): number {
  const [now, look] = useState(serverNow)
  useEffect(() => {
    const timer = setInterval(() => look(serverNow), every)
    return () => clearInterval(timer)
  }, [every])
  return now
}
