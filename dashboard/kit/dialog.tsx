import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import type { Action } from '../api/action.ts'
import { Button } from './button.tsx'
import { Trouble } from './notice.tsx'

interface DialogProps {
  title: string
  /** Called when it is left in whatever way. */
  onClose: () => void
  /** Whether it cannot be left just now. */
  stays?: boolean
  children: ComponentChildren
}

/** A question over the page; the keyboard stays in it, Escape leaves it, and then the keyboard is where it was. */
export function Dialog({ title, onClose, stays = false, children }: DialogProps) {
  const id = useId()
  const box = useRef<HTMLDialogElement>(null)
  const stands = useRef(true)
  useEffect(() => {
    const dialog = box.current!
    const before = document.activeElement
    const around = before?.parentElement?.closest<HTMLElement>('[tabindex]')
    dialog.showModal()
    return () => {
      stands.current = false
      dialog.close()
      // A dialog that is taken out of the page leaves the keyboard nowhere; what it stood at may go with it.
      queueMicrotask(() => {
        if (document.activeElement !== document.body) return
        if (before instanceof HTMLElement && before.isConnected) before.focus()
        else around?.focus()
      })
    }
  }, [])
  const leave = (event: Event) => {
    if (!stands.current) return
    if (!stays) return onClose()
    // A browser takes no for an answer once, and closes it at the next press of Escape.
    event.preventDefault()
    if (!box.current!.open) box.current!.showModal()
  }
  return (
    <dialog ref={box} class="dialog" aria-labelledby={id} onClose={leave} onCancel={leave}>
      <div class="stack">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  )
}

interface ConfirmProps {
  title: string
  /** The word on the button that does it. */
  verb: string
  action: Action<[]>
  /** Whether it may be done now; for what asks to be typed first. */
  ready?: boolean
  onClose: () => void
  children: ComponentChildren
}

/** Asks before something that cannot be undone, and stays until it is known how that ended. */
export function Confirm({ title, verb, action, ready = true, onClose, children }: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onClose} stays={action.busy}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (ready) void action()
        }}
      >
        {children}
        <Trouble failing={action.failing} />
        <div class="choices">
          <Button look="danger" busy={action.busy || !ready}>
            {verb}
          </Button>
          <Button busy={action.busy} onClick={onClose}>
            Keep it
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
