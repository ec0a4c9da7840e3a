import { serverNow } from '../api/server-clock.ts'
import { day } from '../app/time-words.ts'
import { TimeLeft } from '../kit/time.tsx'

/** Milliseconds before its end from which the time left is counted. */
const NEAR = 24 * 3600 * 1000

/** When a site ends: counted down within a day of it, else the day. */
export function Expiry({ at }: { at: string }) {
  if (!isNear(at)) return <>Expires {day(at)}</>
  if (Date.parse(at) < serverNow()) return <>Expired</>
  return (
    <>
      Expires in <TimeLeft until={at} over="a moment" />
    </>
  )
}

/** Whether a site ends within a day. */
export function isNear(at: string): boolean {
  return Date.parse(at) - serverNow() <= NEAR
}
