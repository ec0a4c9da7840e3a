import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { signedInAs } from '../api/session.ts'
import { useKept } from '../api/use-kept.ts'
import { Page } from '../app/page.tsx'
import { SignInForm } from './sign-in-form.tsx'
import { wayOn } from './ways.ts'

/** `/sign-in?then=/path`; who is signed in already is led on. */
export function SignInPage() {
  const { query, route } = useLocation()
  const email = useKept(signedInAs)
  const [way] = useState(() => wayOn(query.then))
  useEffect(() => {
    if (email !== null) route(way, true)
  }, [email])
  return (
    <Page title="Sign in" narrow>
      {email === null ? <SignInForm /> : <p role="status">You are signed in as {email}.</p>}
    </Page>
  )
}
