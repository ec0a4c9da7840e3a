import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { handleSubmit, useAction } from '../api/action.ts'
import { settings } from '../api/settings.ts'
import { Button } from '../kit/button.tsx'
import { TextField } from '../kit/field.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { NO_EMAIL, sendsEmails } from './email-delivery.ts'

interface EmailStepProps {
  /** The only allowed address, if any. */
  only: string | undefined
  /** Whether focus moves to the field. */
  focused: boolean
  onMail: (email: string) => Promise<void>
}

const WHO_SIGNS_UP = settings.openSignUp ? '' : ' This server limits who can create an account.'

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
          hint={
            (sendsEmails ? "We'll email you a sign-in code. No password needed." : NO_EMAIL) + WHO_SIGNS_UP
          }
          box={box}
          value={email}
          onWrite={write}
          error={wrong}
        />
      )}
      {!wrong && <ErrorNotice error={mail.error} />}
      {settings.branding.termsUrl !== '' && (
        <p class="quiet">
          By signing in you accept the <a href={settings.branding.termsUrl}>terms</a>.
        </p>
      )}
      <Button variant="main" class="long-words" busy={mail.busy}>
        {sendsEmails
          ? only === undefined
            ? 'Email me a code'
            : `Email a code to ${only}`
          : 'Get a sign-in code'}
      </Button>
    </form>
  )
}
