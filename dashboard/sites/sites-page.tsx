import { Page } from '../app/page.tsx'

export function SitesPage() {
  return <Page title="Sites" />
}
