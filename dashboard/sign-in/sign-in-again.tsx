import { useEffect, useState } from 'preact/hooks'
import { signedInAs, signIns } from '../api/session.ts'
import { setSignInPrompt } from '../api/slipway.ts'
import { Button } from '../kit/button.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { SignInForm } from './sign-in-form.tsx'

type Settle = (isSignedIn: boolean) => void

/** The sign-in dialog of an expired session; the interrupted action then continues. */
export function SignInAgain() {
  const [waiting, wait] = useState<readonly Settle[]>([])
  useEffect(() => setSignInPrompt(() => new Promise((settle) => wait((before) => [...before, settle]))), [])
  if (waiting.length === 0) return null
  const end = (isSignedIn: boolean) => {
    for (const settle of waiting) settle(isSignedIn)
    wait((now) => now.filter((settle) => !waiting.includes(settle)))
  }
  return <Asking email={signedInAs.value ?? ''} onEnd={end} />
}

function Asking({ email, onEnd }: { email: string; onEnd: Settle }) {
  useEffect(() => signIns.subscribe(() => onEnd(signedInAs.value === email)), [email, onEnd])
  useEffect(() => signedInAs.subscribe(() => onEnd(false)), [onEnd])
  return (
    <Dialog title="You're signed out" onClose={() => onEnd(false)}>
      <p>Sign in again as {email} to continue. Nothing was lost.</p>
      <SignInForm only={email} />
      <div class="choices">
        <Button variant="link" onClick={() => onEnd(false)}>
          Not now
        </Button>
      </div>
    </Dialog>
  )
}
