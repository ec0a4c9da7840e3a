import { Page } from '../app/page.tsx'

export function ClaimPage() {
  return <Page title="Claim a site" />
}
