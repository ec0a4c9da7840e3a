import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { submitting, useAction } from '../api/action.ts'
import { Button } from '../kit/button.tsx'
import { TextField } from '../kit/field.tsx'
import { Trouble } from '../kit/notice.tsx'

interface EmailStepProps {
  /** The one address that a code may go to. */
  only: string | undefined
  /** Whether the reader is taken to the field. */
  focused: boolean
  onMail: (email: string) => Promise<void>
}

/** The first step: where the code goes. */
export function EmailStep({ only, focused, onMail }: EmailStepProps) {
  const [email, write] = useState(only ?? '')
  const box = useRef<HTMLInputElement>(null)
  const mail = useAction(() => onMail(email))
  const wrong = mail.failing?.fields.email
  useLayoutEffect(() => {
    if (focused || wrong) box.current?.focus()
  }, [focused, wrong])
  return (
    <form class="stack" noValidate onSubmit={submitting(mail)}>
      {only === undefined && (
        <TextField
          label="Your email address"
          type="email"
          autocomplete="email"
          hint="It gets a code to sign in with. There is no password, and an API key that you have goes on working."
          box={box}
          value={email}
          onWrite={write}
          wrong={wrong}
        />
      )}
      {!wrong && <Trouble failing={mail.failing} />}
      <Button look="main" class="long-words" busy={mail.busy}>
        {only === undefined ? 'Mail me a code' : `Mail a code to ${only}`}
      </Button>
    </form>
  )
}
