import { Page } from '../app/page.tsx'

export function SignInPage() {
  return <Page title="Sign in" />
}
