import { Button } from '../kit/button.tsx'
import { Page } from './page.tsx'

/** Replaces a page whose script could not be loaded: the network failed, or the service was upgraded. */
export function ChunkErrorPage() {
  return (
    <Page title="Couldn't load this page" narrow>
      <p>
        <Button variant="main" onClick={() => location.reload()}>
          Try again
        </Button>
      </p>
    </Page>
  )
}
