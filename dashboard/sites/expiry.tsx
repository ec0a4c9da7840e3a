import { serverNow } from '../api/server-clock.ts'
import { LocalTime, TimeLeft } from '../kit/time.tsx'

/** Milliseconds before the expiry from which a countdown is shown. */
const COUNTDOWN_MS = 24 * 3600 * 1000

interface ExpiryProps {
  at: string
  /** Whether it is beside the word "Expires". */
  isLabelled?: boolean
}

/** A site's expiry: a countdown within a day, otherwise the date. */
export function Expiry({ at, isLabelled = false }: ExpiryProps) {
  const [before, beforeCountdown] = isLabelled ? ['', 'In '] : ['Expires ', 'Expires in ']
  if (!isNear(at))
    return (
      <>
        {before}
        <LocalTime at={at} />
      </>
    )
  if (Date.parse(at) < serverNow()) return <>Expired</>
  return (
    <>
      {beforeCountdown}
      <TimeLeft until={at} over="a moment" />
    </>
  )
}

/** Whether a site expires within a day. */
export function isNear(at: string): boolean {
  return Date.parse(at) - serverNow() <= COUNTDOWN_MS
}
