import type { ComponentChildren, ComponentType } from 'preact'
import { ErrorBoundary, LocationProvider, lazy, Route, Router, useLocation } from 'preact-iso'
import { HomePage } from '../home/home-page.tsx'
import { ChunkErrorPage } from './chunk-error-page.tsx'
import { PageErrorBoundary } from './error-boundary.tsx'
import { NotFoundPage } from './not-found-page.tsx'
import { markNavigated } from './route-focus.ts'

/** A page whose script is loaded on demand, while the previous one stays visible. */
function lazyPage<Props>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  return lazy<ComponentType<Props>>(() => load().catch(() => ChunkErrorPage))
}

// Every address here has to be in server/web/pages.ts, too. All but the front page are loaded when they are first
// opened.
const ClaimPage = lazyPage(() => import('../claim/claim-page.tsx').then((it) => it.ClaimPage))
const AuthorizePage = lazyPage(() => import('../authorize/authorize-page.tsx').then((it) => it.AuthorizePage))
const SignInPage = lazyPage(() => import('../sign-in/sign-in-page.tsx').then((it) => it.SignInPage))
const SitesPage = lazyPage(() => import('../sites/sites-page.tsx').then((it) => it.SitesPage))
const SitePage = lazyPage(() => import('../site/site-page.tsx').then((it) => it.SitePage))
const TrashPage = lazyPage(() => import('../trash/trash-page.tsx').then((it) => it.TrashPage))
const DomainsPage = lazyPage(() => import('../domains/domains-page.tsx').then((it) => it.DomainsPage))
const AccountPage = lazyPage(() => import('../account/account-page.tsx').then((it) => it.AccountPage))
const AdminPage = lazyPage(() => import('../admin/admin-page.tsx').then((it) => it.AdminPage))
const DevicePage = lazyPage(() => import('../device/device-page.tsx').then((it) => it.DevicePage))

/** Links to other paths leave the application. */
const APP_PATHS = /^\/(?!docs|health|api\/|oauth\/|assets\/)/

export function Locations({ children }: { children: ComponentChildren }) {
  return <LocationProvider scope={APP_PATHS}>{children}</LocationProvider>
}

/** The table of routes. */
export function Pages() {
  const { path } = useLocation()
  return (
    <ErrorBoundary>
      <PageErrorBoundary path={path}>
        <Router onRouteChange={markNavigated}>
          <Route path="/" component={HomePage} />
          <Route path="/claim" component={ClaimPage} />
          <Route path="/authorize/:id" component={AuthorizePage} />
          <Route path="/sign-in" component={SignInPage} />
          <Route path="/sites" component={SitesPage} />
          <Route path="/sites/:slug/:view?" component={SitePage} />
          <Route path="/trash" component={TrashPage} />
          <Route path="/domains" component={DomainsPage} />
          <Route path="/account" component={AccountPage} />
          <Route path="/device" component={DevicePage} />
          <Route path="/admin/:view?" component={AdminPage} />
          <Route default component={NotFoundPage} />
        </Router>
      </PageErrorBoundary>
    </ErrorBoundary>
  )
}
