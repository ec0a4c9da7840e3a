import { Button } from '../kit/button.tsx'
import { Page } from './page.tsx'

/** Stands for a page whose script did not come: the connection broke, or the service has a newer one by now. */
export function LostPage() {
  return (
    <Page title="The connection broke before this page was here." narrow>
      <p>
        <Button look="main" onClick={() => location.reload()}>
          Try again
        </Button>
      </p>
    </Page>
  )
}
