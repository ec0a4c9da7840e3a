import { Component, type ComponentChildren } from 'preact'
import { invalidate } from '../api/resource.ts'
import { Button } from '../kit/button.tsx'
import { Page } from './page.tsx'

interface PageErrorBoundaryProps {
  /** Changes with the URL: another URL is another attempt. */
  path: string
  children: ComponentChildren
}

/** Shows a sentence and a next step for a page that fails to render; the console has the error. */
export class PageErrorBoundary extends Component<PageErrorBoundaryProps, { faultyAt: string | undefined }> {
  override state = { faultyAt: undefined }

  override componentDidCatch(error: unknown): void {
    console.error(error)
    // Cached data may be the cause.
    invalidate()
    this.setState({ faultyAt: this.props.path })
  }

  override componentDidUpdate({ path }: PageErrorBoundaryProps): void {
    if (path !== this.props.path) this.setState({ faultyAt: undefined })
  }

  override render({ path, children }: PageErrorBoundaryProps) {
    if (this.state.faultyAt !== path) return children
    return (
      <Page title="Something went wrong on this page" narrow>
        <p>Open another page, or reload this one. Reloading discards what you typed and didn't save.</p>
        <p>
          <Button variant="main" onClick={() => location.reload()}>
            Reload
          </Button>
        </p>
      </Page>
    )
  }
}
