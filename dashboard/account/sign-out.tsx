import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { useAction } from '../api/action.ts'
import type { DisplayError } from '../api/display-error.ts'
import { rememberSignedIn } from '../api/session.ts'
import { slipway } from '../api/slipway.ts'
import { Button } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { dropAllKeptInput, hasAnyKeptInput } from '../kit/kept-input.ts'
import { ErrorNotice } from '../kit/notice.tsx'
import { showToast } from '../kit/toast.tsx'
import { discardDrafts, findUnsavedSites } from '../site/settings-draft.ts'

interface SigningOut {
  /** Signs out; asks before, when settings are not saved or texts not sent. */
  start: () => void
  busy: boolean
  error: DisplayError | undefined
  /** The question, which the caller renders. */
  question: ComponentChildren
}

/** Ends the session of this browser and opens the front page. */
export function useSignOut(): SigningOut {
  const { route } = useLocation()
  const [unsaved, ask] = useState<readonly string[] | undefined>(undefined)
  const signOut = useAction(async () => {
    await slipway.signOut()
    discardDrafts()
    dropAllKeptInput()
    route('/')
    rememberSignedIn(null)
    showToast("You're signed out.")
  })
  const start = () => {
    const found = findUnsavedSites()
    if (found.length > 0 || hasAnyKeptInput()) ask(found)
    else void signOut()
  }
  const question = unsaved && (
    <Confirm
      title={`Discard unsaved ${unsaved.length > 0 ? 'settings' : 'texts'}?`}
      verb="Sign out"
      action={signOut}
      onClose={() => ask(undefined)}
    >
      {unsaved.length > 0 && <p>{`The settings of ${unsaved.join(', ')} aren't saved.`}</p>}
      {hasAnyKeptInput() && <p>You typed a file, a comment or a note, and didn't save or send it.</p>}
      <p>Signing out discards it.</p>
    </Confirm>
  )
  return { start, busy: signOut.busy, error: unsaved ? undefined : signOut.error, question }
}

export function SignOut() {
  const { start, busy, error, question } = useSignOut()
  return (
    <>
      <Button icon="leave" busy={busy} onClick={start}>
        Sign out
      </Button>
      <ErrorNotice error={error} />
      {question}
    </>
  )
}
