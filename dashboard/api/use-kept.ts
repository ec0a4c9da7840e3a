import { useEffect, useState } from 'preact/hooks'
import type { Kept } from './kept.ts'

/** The value, and its changes as they come. */
export function useKept<T>(kept: Kept<T>): T {
  const [value, show] = useState(kept.value)
  useEffect(() => {
    const look = () => show(() => kept.value)
    look()
    return kept.listen(look)
  }, [kept])
  return value
}
