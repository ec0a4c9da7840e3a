import { serverNow } from '../api/server-clock.ts'
import { formatDay } from '../app/format-time.ts'
import { TimeLeft } from '../kit/time.tsx'

/** Milliseconds before the expiry from which a countdown is shown. */
const COUNTDOWN_MS = 24 * 3600 * 1000

/** A site's expiry: a countdown within a day, otherwise the date. */
export function Expiry({ at }: { at: string }) {
  if (!isNear(at)) return <>Expires {formatDay(at)}</>
  if (Date.parse(at) < serverNow()) return <>Expired</>
  return (
    <>
      Expires in <TimeLeft until={at} over="a moment" />
    </>
  )
}

/** Whether a site expires within a day. */
export function isNear(at: string): boolean {
  return Date.parse(at) - serverNow() <= COUNTDOWN_MS
}
