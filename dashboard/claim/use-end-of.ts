import { useEffect, useRef } from 'preact/hooks'
import { serverNow } from '../api/server-clock.ts'

/** Milliseconds after the end in which the server has surely noticed it. */
const GRACE = 2000

/** The longest that a timer of the browser can wait, in milliseconds. */
const LONGEST = 2 ** 31 - 1

/** Calls `over` once when this moment has passed by the server's clock. */
export function useEndOf(expiresAt: string | null, over: () => unknown): void {
  const latest = useRef(over)
  latest.current = over
  useEffect(() => {
    if (expiresAt === null) return
    const wait = Math.max(0, Date.parse(expiresAt) - serverNow()) + GRACE
    if (wait > LONGEST) return
    const timer = setTimeout(() => latest.current(), wait)
    return () => clearTimeout(timer)
  }, [expiresAt])
}
