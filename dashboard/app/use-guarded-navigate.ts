import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso'

/** Navigates after an action, unless the user has left the page; returns whether it did. */
export function useGuardedNavigate(): (url: string, replace?: boolean) => boolean {
  const { route } = useLocation()
  const isHere = useRef(true)
  useEffect(
    () => () => {
      isHere.current = false
    },
    [],
  )
  return (url, replace) => {
    if (isHere.current) route(url, replace)
    return isHere.current
  }
}
