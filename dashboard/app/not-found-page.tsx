import { Page } from './page.tsx'

export function NotFoundPage() {
  return (
    <Page title="Page not found" narrow>
      <p class="lead">Check the URL, or start from the home page.</p>
      <p>
        <a href="/">Publish something</a>
      </p>
    </Page>
  )
}
