import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { pluralize } from '../../protocol/format.ts'
import { handleSubmit, useAction } from '../api/action.ts'
import { Button } from '../kit/button.tsx'
import { TextField } from '../kit/field.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { NO_EMAIL, sendsEmails } from './email-delivery.ts'
import { findCode, type MailedCode } from './mailed-code.ts'

interface CodeStepProps {
  mailed: MailedCode
  /** Label of the button that submits the code. */
  verb: string
  onCode: (code: string) => Promise<void>
  /** Mails a new code. */
  onMail: () => Promise<void>
  onAnother: (() => void) | undefined
}

/** The second step: the code, submitted automatically when it is complete. */
export function CodeStep({ mailed, verb, onCode, onMail, onAnother }: CodeStepProps) {
  const [text, write] = useState('')
  const [isNew, sayNew] = useState(false)
  const box = useRef<HTMLInputElement>(null)
  const tried = useRef<string | undefined>(undefined)
  const send = useAction((code: string) => {
    tried.current = code
    return onCode(code)
  })
  const again = useAction(async () => {
    await onMail()
    write('')
    send.clear()
    sayNew(true)
    box.current?.focus()
  })
  const isWrong = send.error?.code === 'INVALID_CODE'

  useLayoutEffect(() => box.current?.focus(), [])
  useEffect(() => {
    if (isWrong) box.current?.select()
  }, [isWrong, send.error])

  const writeOn = (now: string) => {
    write(now)
    const code = findCode(now)
    if (code === undefined) tried.current = undefined
    else if (code !== tried.current) void send(code)
  }
  return (
    <form class="stack" onSubmit={handleSubmit(() => send(findCode(text) ?? text))}>
      <p role="status">{describeMail(mailed, isNew)}</p>
      <TextField
        label="Sign-in code"
        autocomplete="one-time-code"
        autocapitalize="characters"
        class="mailed-code"
        hint={`8 characters, like ABCD-2345.${sendsEmails ? " Can't find it? Check your spam folder." : ''}`}
        box={box}
        value={text}
        onWrite={writeOn}
        error={isWrong ? send.error?.title : undefined}
      />
      {!isWrong && <ErrorNotice error={send.error} />}
      <ErrorNotice error={again.error} />
      <Button variant="main" busy={send.busy}>
        {verb}
      </Button>
      <div class="choices">
        <Button variant="link" busy={again.busy} onClick={again}>
          {sendsEmails ? 'Email a new code' : 'Get a new code'}
        </Button>
        {onAnother && (
          <Button variant="link" onClick={onAnother}>
            Use another email
          </Button>
        )}
      </div>
    </form>
  )
}

function describeMail({ email, until }: MailedCode, isNew: boolean): string {
  const code = isNew ? 'new code' : 'code'
  const minutes = pluralize(Math.max(1, Math.ceil((until - Date.now()) / 60_000)), 'minute')
  return sendsEmails
    ? `We sent a ${code} to ${email}. It expires in ${minutes}.`
    : `The ${code} for ${email} expires in ${minutes}. ${NO_EMAIL}`
}
