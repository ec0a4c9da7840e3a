import { useAction } from '../api/action.ts'
import { rememberSignedIn } from '../api/session.ts'
import { slipway } from '../api/slipway.ts'
import { Button } from '../kit/button.tsx'
import { CopyLine } from '../kit/copy.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { type MailedCode, rememberMailedCode } from './mailed-code.ts'

interface LinkSignInProps {
  code: string
  /** What this browser requested; undefined in any other browser. */
  requested: MailedCode | undefined
}

/**
 * The page of the link in an email. Only the browser that requested the code can sign in here: otherwise a link that an
 * attacker requested would sign the reader in to the attacker's account. Signing in takes a click, so that programs that
 * open links do not use the code up.
 */
export function LinkSignIn({ code, requested }: LinkSignInProps) {
  const signIn = useAction(async () => {
    const { email } = await slipway.signIn(requested!.email, code, requested!.attempt)
    rememberMailedCode(undefined)
    rememberSignedIn(email)
  })
  if (!requested)
    return (
      <div class="stack">
        <p>Enter this code in the browser or terminal where you requested it. Never share it.</p>
        <CopyLine text={code} of="the sign-in code" />
      </div>
    )
  return (
    <div class="stack">
      <p>Sign in as {requested.email}</p>
      <ErrorNotice error={signIn.error} />
      <Button variant="main" busy={signIn.busy} onClick={signIn}>
        Sign in
      </Button>
    </div>
  )
}
