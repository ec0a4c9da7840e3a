import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { handleSubmit, useAction } from '../api/action.ts'
import { Button } from '../kit/button.tsx'
import { TextField } from '../kit/field.tsx'
import { ErrorNotice } from '../kit/notice.tsx'

interface EmailStepProps {
  /** The only allowed address, if any. */
  only: string | undefined
  /** Whether focus moves to the field. */
  focused: boolean
  onMail: (email: string) => Promise<void>
}

/** The first step: the address. */
export function EmailStep({ only, focused, onMail }: EmailStepProps) {
  const [email, write] = useState(only ?? '')
  const box = useRef<HTMLInputElement>(null)
  const mail = useAction(() => onMail(email))
  const wrong = mail.error?.fields.email
  useLayoutEffect(() => {
    if (focused || wrong) box.current?.focus()
  }, [focused, wrong])
  return (
    <form class="stack" noValidate onSubmit={handleSubmit(mail)}>
      {only === undefined && (
        <TextField
          label="Your email address"
          type="email"
          autocomplete="email"
          hint="It gets a code to sign in with. There is no password, and an API key that you have goes on working."
          box={box}
          value={email}
          onWrite={write}
          error={wrong}
        />
      )}
      {!wrong && <ErrorNotice error={mail.error} />}
      <Button variant="main" class="long-words" busy={mail.busy}>
        {only === undefined ? 'Mail me a code' : `Mail a code to ${only}`}
      </Button>
    </form>
  )
}
