import { type ComponentChildren, Fragment } from 'preact'
import { useEffect } from 'preact/hooks'
import { signedInAs } from '../api/session.ts'
import { useSignal } from '../api/use-signal.ts'
import { SignInForm } from '../sign-in/sign-in-form.tsx'
import { Page } from './page.tsx'
import { markNavigated } from './route-focus.ts'

/** Content for signed-in users; others see the sign-in form. */
export function SignedIn({ to, children }: { to: string; children: ComponentChildren }) {
  const email = useSignal(signedInAs)
  // What follows a sign-in is another page of the same address.
  useEffect(() => {
    if (email === null) markNavigated()
  }, [email])
  if (email !== null) return <Fragment key={email}>{children}</Fragment>
  return (
    <Page title={`Sign in to ${to}`} narrow>
      <SignInForm />
    </Page>
  )
}
