import { useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { lazyComponent } from '../app/lazy-component.tsx'
import { NotFoundPage } from '../app/not-found-page.tsx'
import { Page } from '../app/page.tsx'
import { SignedIn } from '../app/signed-in.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Loading } from '../kit/skeleton.tsx'

const Administration = lazyComponent('the administration', () =>
  import('./administration.tsx').then((it) => it.Administration),
)

/** `/admin`: for administrators only; its script is loaded for them only. */
export function AdminPage() {
  return (
    <SignedIn to="continue">
      <ForAdministrators />
    </SignedIn>
  )
}

function ForAdministrators() {
  const { value, error, reload } = useResource('me', () => slipway.me())
  if (value?.administrator) return <Administration />
  if (value) return <NotFoundPage />
  return (
    <Page title="One moment">
      {error ? <ErrorNotice error={error} onRetry={reload} /> : <Loading what="your account" />}
    </Page>
  )
}
