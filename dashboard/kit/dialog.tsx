import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { type Action, handleSubmit } from '../api/action.ts'
import { Button } from './button.tsx'
import { FieldsKept, TextField } from './field.tsx'
import { useWithoutFrames } from './frame-guard.tsx'
import { ErrorNotice } from './notice.tsx'

interface DialogProps {
  title: string
  /** Whether only assistive technology reads the title. */
  isTitleHidden?: boolean
  /** In addition to the dialog's own class. */
  class?: string
  /** Called when it closes in any way. */
  onClose: () => void
  /** Whether its request runs: it cannot be closed, and its fields keep what they show. */
  busy?: boolean
  /** Whether it cannot be closed now. */
  stays?: boolean
  /** Called when the user tries to close it while it stays. */
  onStay?: () => void
  children: ComponentChildren
}

/** A modal dialog: focus stays in it, Escape closes it, and focus then returns. */
export function Dialog({
  title,
  isTitleHidden = false,
  onClose,
  busy = false,
  stays = busy,
  onStay,
  children,
  ...rest
}: DialogProps) {
  const id = useId()
  const box = useRef<HTMLDialogElement>(null)
  const stands = useRef(true)
  useWithoutFrames()
  useEffect(() => {
    const dialog = box.current!
    const before = document.activeElement
    const around = before?.parentElement?.closest<HTMLElement>('[tabindex]')
    dialog.showModal()
    return () => {
      stands.current = false
      dialog.close()
      // A removed dialog leaves focus nowhere; the element that opened it may be removed too.
      queueMicrotask(() => {
        if (document.activeElement !== document.body) return
        // What was done in the dialog may have scrolled the page.
        const target = before instanceof HTMLElement && before.isConnected ? before : around
        target?.focus({ preventScroll: true })
      })
    }
  }, [])
  const leave = (event: Event) => {
    if (!stands.current) return
    if (!stays) return onClose()
    // A browser lets a page prevent closing only once.
    event.preventDefault()
    if (!box.current!.open) box.current!.showModal()
    onStay?.()
  }
  return (
    <dialog
      ref={box}
      class={`dialog ${rest.class ?? ''}`}
      aria-labelledby={id}
      onClose={leave}
      onCancel={leave}
    >
      <div class="stack">
        <h2 id={id} class={isTitleHidden ? 'visually-hidden' : undefined}>
          {title}
        </h2>
        <FieldsKept.Provider value={busy}>{children}</FieldsKept.Provider>
      </div>
    </dialog>
  )
}

interface ConfirmProps {
  title: string
  /** Label of the confirming button. */
  verb: string
  action: Action<[]>
  /** By default the action is one that destroys something. */
  variant?: 'danger' | 'main'
  /** Whether it can be confirmed now. */
  ready?: boolean
  /** Whether its fields show the error of the action. */
  isAtFields?: boolean
  /** What has to be typed first, where the action cannot be undone; `name` is what it is. */
  typed?: { text: string; name?: string } | undefined
  onClose: () => void
  children: ComponentChildren
}

/** Confirms an action, and stays open until its result is known. */
export function Confirm({
  title,
  verb,
  action,
  variant = 'danger',
  ready = true,
  isAtFields = false,
  typed,
  onClose,
  children,
}: ConfirmProps) {
  const [text, write] = useState('')
  const isTyped = typed === undefined || text.trim().toLowerCase() === typed.text.toLowerCase()
  const canConfirm = ready && isTyped
  // The next dialog may be about another object.
  const close = () => {
    action.clear()
    onClose()
  }
  return (
    <Dialog title={title} onClose={close} busy={action.busy}>
      <form class="stack" onSubmit={handleSubmit(() => canConfirm && action())}>
        {children}
        {typed && (
          <TextField
            label={`Type ${typed.name ?? typed.text} to confirm`}
            hint={typed.name === undefined ? undefined : typed.text}
            autocapitalize="none"
            autocomplete="off"
            value={text}
            onWrite={write}
          />
        )}
        {!isAtFields && <ErrorNotice error={action.error} />}
        <div class="choices">
          <Button variant={variant} busy={action.busy} disabled={!canConfirm}>
            {verb}
          </Button>
          <Button disabled={action.busy} onClick={close}>
            Cancel
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
