import { useEffect, useRef } from 'preact/hooks'
import { serverNow } from '../api/server-clock.ts'

/** Milliseconds after the expiry by which the server has surely applied it. */
const GRACE_MS = 2000

/** The longest delay of a browser timer, in milliseconds. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1

/** Calls `over` once when this time has passed by the server's clock. */
export function useExpiry(expiresAt: string | null, over: () => unknown): void {
  const latest = useRef(over)
  latest.current = over
  useEffect(() => {
    if (expiresAt === null) return
    const wait = Math.max(0, Date.parse(expiresAt) - serverNow()) + GRACE_MS
    if (wait > MAX_TIMEOUT_MS) return
    const timer = setTimeout(() => latest.current(), wait)
    return () => clearTimeout(timer)
  }, [expiresAt])
}
