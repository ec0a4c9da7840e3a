import { useState } from 'preact/hooks'
import { submitting, useAction } from '../api/action.ts'
import { forget } from '../api/resource.ts'
import { rememberSignedIn } from '../api/session.ts'
import { slipway } from '../api/slipway.ts'
import { Button } from '../kit/button.tsx'
import { TextField } from '../kit/field.tsx'
import { Trouble } from '../kit/notice.tsx'

interface SignInFormProps {
  /** Whose code it is to be, where that is known. */
  email?: string | undefined
  onSignedIn?: (email: string) => void
}

/** Signs somebody in by mailed code, in two steps. */
export function SignInForm({ email: known = '', onSignedIn }: SignInFormProps) {
  const [email, setEmail] = useState(known)
  const [code, setCode] = useState('')
  const [mailedTo, setMailedTo] = useState<string | undefined>(undefined)
  const mail = useAction(async () => {
    const answer = await slipway.requestCode(email)
    setMailedTo(answer.email)
  })
  const signIn = useAction(async () => {
    const answer = await slipway.signIn(mailedTo!, code)
    forget()
    rememberSignedIn(answer.email)
    onSignedIn?.(answer.email)
  })
  if (mailedTo === undefined)
    return (
      <form class="stack" onSubmit={submitting(mail)}>
        <TextField
          label="Your email address"
          type="email"
          autocomplete="email"
          value={email}
          onWrite={setEmail}
          wrong={mail.failing?.fields.email}
        />
        {!mail.failing?.fields.email && <Trouble failing={mail.failing} />}
        <Button look="main" busy={mail.busy}>
          Mail me a code
        </Button>
      </form>
    )
  return (
    <form class="stack" onSubmit={submitting(signIn)}>
      <p>A code is on its way to {mailedTo}. It works for 10 minutes.</p>
      <TextField label="Code from the mail" autocomplete="one-time-code" value={code} onWrite={setCode} />
      <Trouble failing={signIn.failing} />
      <Button look="main" busy={signIn.busy}>
        Sign in
      </Button>
    </form>
  )
}
