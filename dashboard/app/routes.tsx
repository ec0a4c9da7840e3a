import type { Attributes, ComponentChildren, ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ErrorBoundary, LocationProvider, lazy, Route, Router, useLocation } from 'preact-iso'
import { PAGE_PATHS, type PageName } from '../../protocol/page-paths.ts'
import { useAction } from '../api/action.ts'
import { HomePage } from '../home/home-page.tsx'
import { Button } from '../kit/button.tsx'
import { PageErrorBoundary } from './error-boundary.tsx'
import { NotFoundPage } from './not-found-page.tsx'
import { Page } from './page.tsx'
import { focusHeading, markNavigated } from './route-focus.ts'

/** A page whose script is loaded on demand, while the previous one stays visible. */
function lazyPage<Props>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  return lazy<ComponentType<Props>>(() => load().catch(() => retryPage(load)))
}

/**
 * Replaces a page whose script could not be loaded: the network failed, or the service was upgraded, after which only a
 * reload helps. Each visit tries again.
 */
function retryPage<Props>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let Loaded: ComponentType<Props> | undefined
  return function RetryPage(props: Props & Attributes) {
    const [Shown, show] = useState(() => Loaded)
    const get = useAction(async () => {
      Loaded = await load()
      show(() => Loaded)
    })
    useEffect(() => void (Shown || get()), [])
    if (Shown) return <Shown {...props} />
    if (!get.error) return null
    return (
      <Page title="Couldn't load this page" narrow>
        <p class="choices">
          <Button variant="main" onClick={get}>
            Try again
          </Button>
          <Button variant="link" onClick={() => location.reload()}>
            Reload
          </Button>
        </p>
      </Page>
    )
  }
}

/** All but the front page are loaded when they are first opened. */
const PAGES: Record<PageName, ComponentType> = {
  home: HomePage,
  claim: lazyPage(() => import('../claim/claim-page.tsx').then((it) => it.ClaimPage)),
  authorize: lazyPage(() => import('../authorize/authorize-page.tsx').then((it) => it.AuthorizePage)),
  signIn: lazyPage(() => import('../sign-in/sign-in-page.tsx').then((it) => it.SignInPage)),
  sites: lazyPage(() => import('../sites/sites-page.tsx').then((it) => it.SitesPage)),
  site: lazyPage(() => import('../site/site-page.tsx').then((it) => it.SitePage)),
  trash: lazyPage(() => import('../trash/trash-page.tsx').then((it) => it.TrashPage)),
  domains: lazyPage(() => import('../domains/domains-page.tsx').then((it) => it.DomainsPage)),
  account: lazyPage(() => import('../account/account-page.tsx').then((it) => it.AccountPage)),
  device: lazyPage(() => import('../device/device-page.tsx').then((it) => it.DevicePage)),
  review: lazyPage(() => import('../review/review-page.tsx').then((it) => it.ReviewPage)),
  admin: lazyPage(() => import('../admin/admin-page.tsx').then((it) => it.AdminPage)),
}

const FIRST_SEGMENTS = Object.values(PAGE_PATHS).flatMap((path) => path.split('/')[1] || [])

/** Links to other paths leave the application. */
const APP_PATHS = new RegExp(`^/(?:${FIRST_SEGMENTS.join('|')})?(?:[/?#]|$)`)

export function Locations({ children }: { children: ComponentChildren }) {
  return <LocationProvider scope={APP_PATHS}>{children}</LocationProvider>
}

/** The table of routes. */
export function Pages() {
  const { path } = useLocation()
  const [shown, show] = useState<string | undefined>(undefined)
  // After those of the page, which may move the focus. One whose script was loaded has its effects while the page before
  // it is shown, with its dialog.
  useEffect(() => {
    if (shown !== undefined) focusHeading()
  }, [shown])
  const onRouteChange = (url: string) => {
    markNavigated()
    show(url)
  }
  return (
    <ErrorBoundary>
      <PageErrorBoundary path={path}>
        <Router onRouteChange={onRouteChange}>
          {Object.entries(PAGE_PATHS).map(([name, path]) => (
            <Route key={name} path={path} component={PAGES[name as PageName]} />
          ))}
          <Route default component={NotFoundPage} />
        </Router>
      </PageErrorBoundary>
    </ErrorBoundary>
  )
}
