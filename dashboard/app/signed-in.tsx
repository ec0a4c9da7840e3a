import { type ComponentChildren, Fragment } from 'preact'
import { signedInAs } from '../api/session.ts'
import { useSignal } from '../api/use-signal.ts'
import { SignInForm } from '../sign-in/sign-in-form.tsx'
import { Page } from './page.tsx'

/** Content for signed-in users; others see the sign-in form. */
export function SignedIn({ to, children }: { to: string; children: ComponentChildren }) {
  const email = useSignal(signedInAs)
  if (email !== null) return <Fragment key={email}>{children}</Fragment>
  return (
    <Page title={`Sign in to ${to}`} narrow>
      <SignInForm />
    </Page>
  )
}
