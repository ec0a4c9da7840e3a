import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { Signal } from '../api/signal.ts'
import { useSignal } from '../api/use-signal.ts'
import { Button } from './button.tsx'
import { useFocusAround } from './notice.tsx'

/** Reverts the action, or leads to its result. */
type NextStep = (() => unknown) | { href: string; name: string }

interface ToastMessage {
  text: string
  next: NextStep | undefined
}

/** Milliseconds that it stays; longer with a next step. */
const TOAST_MS = 6000
const TOAST_WITH_NEXT_MS = 30_000

const toast = new Signal<ToastMessage | undefined>(undefined)

/** Shows a toast, optionally with an undo button or a link. */
export function showToast(text: string, next?: NextStep): void {
  toast.value = { text, next }
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
    const timer = setTimeout(() => close(now), now.next ? TOAST_WITH_NEXT_MS : TOAST_MS)
    return () => clearTimeout(timer)
  }, [now])
  return (
    <div class="toast" role="status" ref={box}>
      {now && <Message key={now} message={now} />}
    </div>
  )
}

function Message({ message }: { message: ToastMessage }) {
  const box = useRef<HTMLDivElement>(null)
  useFocusAround(box)
  return (
    <div class="toast-message" ref={box}>
      <span>{message.text}</span>
      <Next step={message.next} onDone={() => close(message)} />
      <Button variant="link" onClick={() => close(message)}>
        Close
      </Button>
    </div>
  )
}

function Next({ step, onDone }: { step: NextStep | undefined; onDone: () => void }) {
  if (!step) return null
  if (typeof step !== 'function')
    return (
      <a href={step.href} onClick={onDone}>
        {step.name}
      </a>
    )
  const undo = () => {
    onDone()
    return step()
  }
  return (
    <Button variant="link" onClick={undo}>
      Undo
    </Button>
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
