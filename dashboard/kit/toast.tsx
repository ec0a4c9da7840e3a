import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { Signal } from '../api/signal.ts'
import { useSignal } from '../api/use-signal.ts'
import { Button } from './button.tsx'

interface ToastMessage {
  text: string
  /** Reverts the action. */
  undo?: (() => unknown) | undefined
}

/** Milliseconds that it stays; longer with an undo button. */
const TOAST_MS = 6000
const TOAST_WITH_UNDO_MS = 30_000

const toast = new Signal<ToastMessage | undefined>(undefined)

/** Shows a toast, optionally with an undo button. */
export function showToast(text: string, undo?: () => unknown): void {
  toast.value = { text, undo }
}

/** What a toast does not cover. */
const KEPT_CLEAR = '.button.main, .save-bar'
/** Pixels between them. */
const GAP = 8

export function Toast() {
  const now = useSignal(toast)
  const box = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => (now ? keepClear(box.current!) : undefined), [now])
  useEffect(() => {
    if (!now) return
    const timer = setTimeout(() => close(now), now.undo ? TOAST_WITH_UNDO_MS : TOAST_MS)
    return () => clearTimeout(timer)
  }, [now])
  const undo = (it: ToastMessage) => {
    close(it)
    return it.undo?.()
  }
  return (
    <div class="toast" role="status" ref={box}>
      {now && (
        <div class="toast-message">
          <span>{now.text}</span>
          {now.undo && (
            <Button variant="link" onClick={() => undo(now)}>
              Undo
            </Button>
          )}
          <Button variant="link" onClick={() => close(now)}>
            Close
          </Button>
        </div>
      )}
    </div>
  )
}

/** Unless another toast has replaced it. */
function close(it: ToastMessage): void {
  if (toast.value === it) toast.value = undefined
}

/** Raises the toast in the box above main actions while it is shown. Returns a function that stops this. */
function keepClear(box: HTMLElement): () => void {
  const message = box.firstElementChild as HTMLElement
  const place = () => {
    message.style.translate = `0 ${-findLift(box.getBoundingClientRect(), message.getBoundingClientRect())}px`
  }
  place()
  const listening = new AbortController()
  addEventListener('scroll', place, { signal: listening.signal, passive: true })
  const resized = new ResizeObserver(place)
  for (const element of [document.documentElement, document.body]) resized.observe(element)
  return () => {
    listening.abort()
    resized.disconnect()
  }
}

/** Pixels by which to raise a toast: `top` and `bottom` are those at its lowest place. */
function findLift({ top, bottom }: DOMRect, { left, right }: DOMRect): number {
  const covered = [...document.querySelectorAll(KEPT_CLEAR)]
    .map((element) => element.getBoundingClientRect())
    .filter((at) => at.width > 0 && at.left < right && at.right > left)
    .sort((a, b) => b.bottom - a.bottom)
  let lift = 0
  for (const at of covered)
    if (at.top - GAP < bottom - lift && at.bottom + GAP > top - lift) lift = bottom - at.top + GAP
  return lift < top ? lift : 0
}
