import { Component, type ComponentChildren } from 'preact'
import { forget } from '../api/resource.ts'
import { Button } from '../kit/button.tsx'
import { Page } from './page.tsx'

interface FaultBoundaryProps {
  /** Where the reader is: another address is another try. */
  path: string
  children: ComponentChildren
}

/** A page that cannot be drawn is a fault of ours: a sentence and a way on stand in its place, and the console has the rest. */
export class FaultBoundary extends Component<FaultBoundaryProps, { faultyAt: string | undefined }> {
  override state = { faultyAt: undefined }

  override componentDidCatch(error: unknown): void {
    console.error(error)
    // What was known may be what cannot be drawn.
    forget()
    this.setState({ faultyAt: this.props.path })
  }

  override componentDidUpdate({ path }: FaultBoundaryProps): void {
    if (path !== this.props.path) this.setState({ faultyAt: undefined })
  }

  override render({ path, children }: FaultBoundaryProps) {
    if (this.state.faultyAt !== path) return children
    return (
      <Page title="This page made a mistake." narrow>
        <p>Nothing is lost. Reload it, or go on elsewhere.</p>
        <p>
          <Button look="main" onClick={() => location.reload()}>
            Reload
          </Button>
        </p>
      </Page>
    )
  }
}
