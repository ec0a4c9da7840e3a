import { useEffect, useState } from 'preact/hooks'

/** How long a page must have been in view before a click on it is a decision: longer than a double click, or a habit. */
const SETTLE_MS = 1000

/**
 * Whether the page has been in view and in focus for a second, without a key or button that was pressed in it. Otherwise a
 * page of someone else could lead here between two clicks, or close a window above this one, so that the second click
 * decides.
 */
export function useSettled(): boolean {
  const [isSettled, setSettled] = useState(false)
  useEffect(() => {
    const listening = new AbortController()
    const { signal } = listening
    let timer: number | undefined
    const wait = () => {
      setSettled(false)
      clearTimeout(timer)
      timer = window.setTimeout(settle, SETTLE_MS)
    }
    const settle = () => {
      timer = undefined
      // Otherwise the page waits for its focus.
      setSettled(document.hasFocus())
    }
    const waitLonger = () => timer !== undefined && wait()
    for (const name of ['focus', 'blur', 'pageshow']) addEventListener(name, wait, { signal })
    document.addEventListener('visibilitychange', wait, { signal })
    for (const name of ['pointerdown', 'keydown'])
      addEventListener(name, waitLonger, { signal, capture: true })
    wait()
    return () => {
      listening.abort()
      clearTimeout(timer)
    }
  }, [])
  return isSettled
}
