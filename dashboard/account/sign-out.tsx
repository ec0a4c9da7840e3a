import { useLocation } from 'preact-iso'
import { type Action, useAction } from '../api/action.ts'
import { rememberSignedIn } from '../api/session.ts'
import { slipway } from '../api/slipway.ts'
import { Button } from '../kit/button.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { showToast } from '../kit/toast.tsx'

/** Ends the session of this browser and opens the front page. */
export function useSignOut(): Action<[]> {
  const { route } = useLocation()
  return useAction(async () => {
    await slipway.signOut()
    route('/')
    rememberSignedIn(null)
    showToast("You're signed out.")
  })
}

export function SignOut() {
  const signOut = useSignOut()
  return (
    <>
      <Button icon="leave" busy={signOut.busy} onClick={signOut}>
        Sign out
      </Button>
      <ErrorNotice error={signOut.error} />
    </>
  )
}
