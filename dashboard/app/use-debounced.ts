import { useEffect, useState } from 'preact/hooks'

/** Milliseconds without a key press after which a request is sent. */
const TYPING_PAUSE_MS = 250

/** The text once the user has paused typing. */
export function useDebounced(text: string): string {
  const [settled, settle] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => settle(text), TYPING_PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}
