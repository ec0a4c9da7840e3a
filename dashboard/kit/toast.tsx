import { useEffect } from 'preact/hooks'
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

export function Toast() {
  const now = useSignal(toast)
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
    <div class="toast" role="status">
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
