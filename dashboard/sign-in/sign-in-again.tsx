import { useEffect, useState } from 'preact/hooks'
import { signedInAs } from '../api/session.ts'
import { askToSignIn } from '../api/slipway.ts'
import { Dialog } from '../kit/dialog.tsx'
import { SignInForm } from './sign-in-form.tsx'

/** Stands over the page when a session has ended in the middle of something, which then goes on. */
export function SignInAgain() {
  const [waiting, wait] = useState<((isSignedIn: boolean) => void)[]>([])
  useEffect(() => askToSignIn(() => new Promise((settle) => wait((before) => [...before, settle]))), [])
  if (waiting.length === 0) return null
  const end = (isSignedIn: boolean) => {
    for (const settle of waiting) settle(isSignedIn)
    wait([])
  }
  return (
    <Dialog title="You are signed out." onClose={() => end(false)}>
      <p>Sign in again to go on where you were. Nothing is lost.</p>
      <SignInForm email={signedInAs.value ?? ''} onSignedIn={() => end(true)} />
    </Dialog>
  )
}
