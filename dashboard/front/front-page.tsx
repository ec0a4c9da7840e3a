import { Page } from '../app/page.tsx'

export function FrontPage() {
  return <Page title="Drop a folder, get an address." />
}
