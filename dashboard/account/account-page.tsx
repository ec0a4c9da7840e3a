import { Page } from '../app/page.tsx'

export function AccountPage() {
  return <Page title="Account" />
}
