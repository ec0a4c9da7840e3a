import { type ComponentChildren, Fragment } from 'preact'
import { signedInAs } from '../api/session.ts'
import { useKept } from '../api/use-kept.ts'
import { SignInForm } from '../sign-in/sign-in-form.tsx'
import { Page } from './page.tsx'

/** What only somebody who is signed in can see; others sign in first, in its place. */
export function SignedIn({ to, children }: { to: string; children: ComponentChildren }) {
  const email = useKept(signedInAs)
  if (email !== null) return <Fragment key={email}>{children}</Fragment>
  return (
    <Page title={`Sign in to ${to}`} narrow>
      <SignInForm />
    </Page>
  )
}
