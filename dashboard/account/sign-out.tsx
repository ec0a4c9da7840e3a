import { useLocation } from 'preact-iso'
import { useAction } from '../api/action.ts'
import { rememberSignedIn } from '../api/session.ts'
import { slipway } from '../api/slipway.ts'
import { Button } from '../kit/button.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { showToast } from '../kit/toast.tsx'

/** Ends the session of this browser and opens the front page. */
export function SignOut() {
  const { route } = useLocation()
  const signOut = useAction(async () => {
    await slipway.signOut()
    route('/')
    rememberSignedIn(null)
    showToast('You are signed out.')
  })
  return (
    <>
      <Button icon="leave" busy={signOut.busy} onClick={signOut}>
        Sign out
      </Button>
      <ErrorNotice error={signOut.error} />
    </>
  )
}
