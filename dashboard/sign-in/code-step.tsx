import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { count } from '../../client/words.ts'
import { submitting, useAction } from '../api/action.ts'
import { Button } from '../kit/button.tsx'
import { TextField } from '../kit/field.tsx'
import { Trouble } from '../kit/notice.tsx'
import { codeIn, type MailedCode } from './mailed-code.ts'

interface CodeStepProps {
  mailed: MailedCode
  /** What the button says that sends the code. */
  verb: string
  onCode: (code: string) => Promise<void>
  /** Mails a new code. */
  onMail: () => Promise<void>
  onAnother: (() => void) | undefined
}

/** The second step: the code, which goes off by itself when it is whole. */
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
  const isWrong = send.failing?.code === 'INVALID_CODE'

  useLayoutEffect(() => box.current?.focus(), [])
  useEffect(() => {
    if (isWrong) box.current?.select()
  }, [isWrong, send.failing])

  const writeOn = (now: string) => {
    write(now)
    const code = codeIn(now)
    if (code === undefined) tried.current = undefined
    else if (code !== tried.current) void send(code)
  }
  return (
    <form class="stack" onSubmit={submitting(() => send(codeIn(text) ?? text))}>
      <p role="status">{saying(mailed, isNew)}</p>
      <TextField
        label="Code from the mail"
        autocomplete="one-time-code"
        autocapitalize="characters"
        class="mailed-code"
        hint="Eight letters and digits, such as ABCD-2345. If nothing comes, look among the spam."
        box={box}
        value={text}
        onWrite={writeOn}
        wrong={isWrong ? send.failing?.title : undefined}
      />
      {!isWrong && <Trouble failing={send.failing} />}
      <Trouble failing={again.failing} />
      <Button look="main" busy={send.busy}>
        {verb}
      </Button>
      <div class="choices">
        <Button look="link" busy={again.busy} onClick={again}>
          Mail a new code
        </Button>
        {onAnother && (
          <Button look="link" onClick={onAnother}>
            Use another address
          </Button>
        )}
      </div>
    </form>
  )
}

function saying({ email, until }: MailedCode, isNew: boolean): string {
  const works = `It works for ${count(Math.max(1, Math.ceil((until - Date.now()) / 60_000)), 'minute')}.`
  return isNew
    ? `A new code is on its way to ${email}. ${works} The one before is over.`
    : `A code is on its way to ${email}. ${works}`
}
