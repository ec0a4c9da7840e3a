import { Page } from './page.tsx'

export function NotFoundPage() {
  return (
    <Page title="There is no page here." narrow>
      <p class="lead">The address may be mistyped, or the page is gone.</p>
      <p>
        <a href="/">Publish something</a>
      </p>
    </Page>
  )
}
