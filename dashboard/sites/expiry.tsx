import { serverNow } from '../api/server-clock.ts'
import { day } from '../app/time-words.ts'
import { TimeLeft } from '../kit/time.tsx'

/** Milliseconds before its end from which the time left is counted. */
const NEAR = 24 * 3600 * 1000

/** When a site ends: counted down within a day of it, else the day. */
export function Expiry({ at }: { at: string }) {
  const remaining = Date.parse(at) - serverNow()
  if (remaining > NEAR) return <>Expires {day(at)}</>
  return remaining > 0 ? (
    <>
      Expires in <TimeLeft until={at} over="a moment" />
    </>
  ) : (
    <>Expired</>
  )
}
