import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { signedInAs } from '../api/session.ts'
import { useSignal } from '../api/use-signal.ts'
import { Page } from '../app/page.tsx'
import { redirectTarget } from './redirect-target.ts'
import { SignInForm } from './sign-in-form.tsx'

/** `/sign-in?then=/path`; redirects when signed in already. */
export function SignInPage() {
  const { query, route } = useLocation()
  const email = useSignal(signedInAs)
  const [target] = useState(() => redirectTarget(query.then))
  useEffect(() => {
    if (email !== null) route(target, true)
  }, [email])
  return (
    <Page title="Sign in" narrow>
      {email === null ? <SignInForm /> : <p role="status">You are signed in as {email}.</p>}
    </Page>
  )
}
