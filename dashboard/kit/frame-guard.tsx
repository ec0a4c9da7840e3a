import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Signal } from '../api/signal.ts'
import { useSignal } from '../api/use-signal.ts'
import { Button } from './button.tsx'
import { Notice } from './notice.tsx'

// A script in a frame can take the keyboard focus without a gesture, and browsers give a page no means to forbid it
// (docs/decisions/010-dashboard.md).

/** Elements whose input is private. */
const FIELDS = 'input, textarea, select'

/** Times in this period that a page may take the focus from a button. */
const TOLERATED = { count: 2, periodMs: 5000 }

/** While another window has the focus, a frame can take that of this window without an event. */
const CHECK_INTERVAL_MS = 100

/** Number of dialogs and sign-in forms on the page. */
const forms = new Signal(0)

/** Origins whose page has taken the focus, until the user runs its scripts again. */
const stoppedOrigins = new Signal<ReadonlySet<string>>(new Set())

/** Keeps frames whose scripts run out of the document while the caller is in it. */
export function useWithoutFrames(): void {
  useLayoutEffect(() => {
    forms.value++
    return () => void forms.value--
  }, [])
}

interface GuardOptions {
  src: string
  /** Whether its scripts run at first. */
  scripts?: boolean
  /** Whether the user works with the page in the frame; given while a button or nothing has the focus. */
  mayFocus?: (() => boolean) | undefined
}

export interface FrameGuard {
  /** Whether a form is open beside it: the frame is not drawn. */
  isAway: boolean
  /** Whether its page runs scripts. */
  runs: boolean
  /** Whether they were stopped because the page has taken the focus. */
  isStopped: boolean
  /** Another value requires another element. */
  key: string
  run: () => void
}

/**
 * Guards the keyboard against the page of a frame. A frame whose scripts run is not in the document beside a dialog or a
 * sign-in form. One that takes the focus from a field is replaced by one without scripts.
 */
export function useFrameGuard(frame: RefObject<HTMLIFrameElement | null>, options: GuardOptions): FrameGuard {
  const { src, scripts = true } = options
  const { origin } = new URL(src)
  const [removals, setRemovals] = useState(0)
  const isAway = useSignal(forms) > 0 && scripts
  const isStopped = useSignal(stoppedOrigins).has(origin) && scripts
  const latest = useRef({ ...options, runs: true })
  const runs = scripts && !isStopped
  latest.current = { ...options, runs }
  useEffect(() => {
    // Before the next render, so that no key that follows reaches the page.
    const remove = () => {
      if (!latest.current.runs) return
      frame.current?.remove()
      setRemovals((count) => count + 1)
    }
    const leave = () => void (forms.value > 0 && remove())
    leave()
    const unsubscribe = forms.subscribe(leave)
    const unwatch = watchFocus(frame, {
      mayFocus: () => latest.current.mayFocus?.(),
      onTheft() {
        remove()
        stop(new URL(latest.current.src).origin, true)
      },
    })
    return () => {
      unsubscribe()
      unwatch()
    }
  }, [])
  const key = `${removals} ${runs}`
  return { isAway, runs, isStopped, key, run: () => stop(origin, false) }
}

function stop(origin: string, isStopped: boolean): void {
  const origins = new Set(stoppedOrigins.value)
  if (isStopped) origins.add(origin)
  else origins.delete(origin)
  stoppedOrigins.value = origins
}

interface FocusRules {
  /** Undefined for a frame that never has the focus. */
  mayFocus: () => boolean | undefined
  onTheft: () => void
}

/** Returns the focus to the element that had it. Returns a function that stops this. */
function watchFocus(
  frame: RefObject<HTMLIFrameElement | null>,
  { mayFocus, onTheft }: FocusRules,
): () => void {
  const listening = new AbortController()
  const capturing = { capture: true, signal: listening.signal }
  let before = document.activeElement
  let isTabbing = false
  let losses: number[] = []
  const hasFrame = () => frame.current !== null && document.activeElement === frame.current
  const remember = () => {
    isTabbing = false
    if (!hasFrame()) before = document.activeElement
  }
  const isInField = () => before?.isConnected && before.matches(FIELDS)
  const isTheft = (): boolean => {
    const invited = mayFocus()
    if (invited !== undefined && isTabbing) return false
    if (isInField()) return true
    if (invited || (invited === false && (!before?.isConnected || before === document.body))) return false
    losses = [...losses.filter((at) => at > Date.now() - TOLERATED.periodMs), Date.now()]
    frame.current!.blur()
    restore()
    return losses.length > TOLERATED.count
  }
  const restore = (element = before) => {
    if (element instanceof HTMLElement && element.isConnected) element.focus({ preventScroll: true })
  }
  const check = () => {
    if (!hasFrame() || before === frame.current) return
    if (isTheft()) {
      const field = before
      onTheft()
      restore(field)
      // Focus cannot always be returned during the blur event.
      setTimeout(() => document.activeElement === document.body && restore(field))
    } else if (hasFrame()) before = frame.current
  }
  const timer = setInterval(() => document.hasFocus() || check(), CHECK_INTERVAL_MS)
  addEventListener('keydown', ({ key }) => (isTabbing = key === 'Tab'), capturing)
  addEventListener('keyup', () => (isTabbing = false), capturing)
  addEventListener('focusin', remember, capturing)
  // A field can be left for nothing, such as with the keyboard of a phone.
  const forget = () => document.activeElement === document.body && document.hasFocus() && remember()
  addEventListener('focusout', () => setTimeout(forget), capturing)
  // A press beside all fields leaves the one that has the focus, without another event.
  addEventListener('mousedown', () => setTimeout(remember), capturing)
  addEventListener(
    'blur',
    ({ target }) => {
      if (target !== window) return
      if (isInField()) check()
      setTimeout(check)
    },
    capturing,
  )
  document.addEventListener('visibilitychange', check, capturing)
  return () => {
    clearInterval(timer)
    listening.abort()
  }
}

/** Says why the page of a frame runs no scripts. */
export function StoppedNotice({ guard }: { guard: FrameGuard }) {
  if (!guard.isStopped) return null
  return (
    <Notice tone="warn" title="The scripts of this page are off">
      <p>The page moved the keyboard focus to itself. It may have received a key that you pressed.</p>
      <p>
        <Button onClick={guard.run}>Run its scripts</Button>
      </p>
    </Notice>
  )
}
