import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso'

/** Leads to another page once something is done, unless whoever began it is elsewhere by then; answers whether it did. */
export function useWayOn(): (url: string, replace?: boolean) => boolean {
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
