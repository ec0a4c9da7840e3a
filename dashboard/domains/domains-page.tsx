import { Page } from '../app/page.tsx'

export function DomainsPage() {
  return <Page title="Domains" />
}
