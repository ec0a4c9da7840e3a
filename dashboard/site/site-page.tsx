import { Page } from '../app/page.tsx'

export function SitePage() {
  return <Page title="Site" />
}
