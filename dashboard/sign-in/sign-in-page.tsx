import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { signedInAs } from '../api/session.ts'
import { useSignal } from '../api/use-signal.ts'
import { Page } from '../app/page.tsx'
import { LinkSignIn } from './link-sign-in.tsx'
import { codeOfLink, requestedCode } from './mailed-code.ts'
import { redirectTarget } from './redirect-target.ts'
import { SignInForm } from './sign-in-form.tsx'

/** `/sign-in?then=/path`, or `/sign-in#code=` from an email; redirects when signed in already. */
export function SignInPage() {
  const { query, route } = useLocation()
  const email = useSignal(signedInAs)
  const [code] = useState(() => codeOfLink(location.hash))
  const [requested] = useState(() => (code === undefined ? undefined : requestedCode()))
  const [target] = useState(() => redirectTarget(code === undefined ? query.then : requested?.page))
  // The history keeps no code.
  useEffect(() => {
    if (code !== undefined) history.replaceState(history.state, '', location.pathname)
  }, [])
  useEffect(() => {
    if (email !== null) route(target, true)
  }, [email])
  return (
    <Page title="Sign in" narrow>
      {email !== null ? (
        <p role="status">You're signed in as {email}.</p>
      ) : code !== undefined ? (
        <LinkSignIn code={code} requested={requested} />
      ) : (
        <SignInForm />
      )}
    </Page>
  )
}
