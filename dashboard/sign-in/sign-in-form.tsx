import { useState } from 'preact/hooks'
import { isLoopbackUrl } from '../../protocol/loopback.ts'
import { rememberSignedIn, staysSignedIn } from '../api/session.ts'
import { slipway } from '../api/slipway.ts'
import { useSignal } from '../api/use-signal.ts'
import { useWithoutFrames } from '../kit/frame-guard.tsx'
import { Notice } from '../kit/notice.tsx'
import { CodeStep } from './code-step.tsx'
import { EmailStep } from './email-step.tsx'
import { mailedCode, rememberMailedCode } from './mailed-code.ts'

/** Over plain HTTP, except on this computer. */
const IS_UNENCRYPTED = location.protocol === 'http:' && !isLoopbackUrl(location.href)

interface SignInFormProps {
  /** The required address, if any. */
  only?: string | undefined
  /** Label of the last button. */
  verb?: string
  /** Whether focus moves to the field of the address. Default true. */
  focused?: boolean
  onSignedIn?: (email: string) => void
}

/** Signs in by emailed code, in two steps; survives a reload. */
export function SignInForm({ only, verb = 'Sign in', focused = true, onSignedIn }: SignInFormProps) {
  const stays = useSignal(staysSignedIn)
  const [mailed, show] = useState(() => mailedCode(only))
  const [cameBack, comeBack] = useState(false)
  useWithoutFrames()

  const mail = async (address: string) => {
    const { email, expiresInSeconds, attempt } = await slipway.requestCode(address)
    const code = { email, until: Date.now() + expiresInSeconds * 1000, attempt }
    rememberMailedCode(code)
    show(code)
  }
  const signIn = async (code: string) => {
    const { email } = await slipway.signIn(mailed!.email, code, mailed!.attempt)
    rememberMailedCode(undefined)
    rememberSignedIn(email)
    onSignedIn?.(email)
  }
  const useAnother = () => {
    rememberMailedCode(undefined)
    show(undefined)
    comeBack(true)
  }

  return (
    <div class="stack">
      {!stays && (
        <Notice tone="warn" title="This browser didn't stay signed in">
          <p>Allow cookies for this site, then request a new code.</p>
        </Notice>
      )}
      {IS_UNENCRYPTED && (
        <Notice tone="warn" title="This connection isn't encrypted">
          <p>Others on your network can read what you send, including your sign-in code.</p>
        </Notice>
      )}
      {mailed ? (
        <CodeStep
          mailed={mailed}
          verb={verb}
          onCode={signIn}
          onMail={() => mail(mailed.email)}
          onAnother={only === undefined ? useAnother : undefined}
        />
      ) : (
        <EmailStep only={only} focused={focused || cameBack} onMail={mail} />
      )}
    </div>
  )
}
