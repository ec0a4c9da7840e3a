import { useEffect, useState } from 'preact/hooks'
import { signedInAs, signIns } from '../api/session.ts'
import { type SignInReason, setSignInPrompt } from '../api/slipway.ts'
import { Button } from '../kit/button.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { SignInForm } from './sign-in-form.tsx'

type Settle = (isSignedIn: boolean) => void

interface Waiting {
  reason: SignInReason
  settle: Settle
}

const TITLES: Record<SignInReason, string> = {
  expired: "You're signed out",
  'too-old': 'Sign in again',
}

/** The sign-in dialog of an expired session; the interrupted action then continues. */
export function SignInAgain() {
  const [waiting, wait] = useState<readonly Waiting[]>([])
  useEffect(
    () =>
      setSignInPrompt((reason) => new Promise((settle) => wait((before) => [...before, { reason, settle }]))),
    [],
  )
  const [first] = waiting
  if (!first) return null
  const end = (isSignedIn: boolean) => {
    for (const { settle } of waiting) settle(isSignedIn)
    wait((now) => now.filter((one) => !waiting.includes(one)))
  }
  return <Asking reason={first.reason} email={signedInAs.value ?? ''} onEnd={end} />
}

function Asking({ reason, email, onEnd }: { reason: SignInReason; email: string; onEnd: Settle }) {
  useEffect(() => signIns.subscribe(() => onEnd(signedInAs.value === email)), [email, onEnd])
  useEffect(() => signedInAs.subscribe(() => onEnd(false)), [onEnd])
  return (
    <Dialog title={TITLES[reason]} onClose={() => onEnd(false)}>
      <p>
        {reason === 'expired'
          ? `Sign in again as ${email} to continue. Nothing was lost.`
          : `This change needs a sign-in that is at most 12 hours old. Get a code for ${email} to continue.`}
      </p>
      <SignInForm only={email} />
      <div class="choices">
        <Button variant="link" onClick={() => onEnd(false)}>
          Not now
        </Button>
      </div>
    </Dialog>
  )
}
