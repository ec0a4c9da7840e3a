import type { ComponentChildren, ComponentType } from 'preact'
import { ErrorBoundary, LocationProvider, lazy, Route, Router, useLocation } from 'preact-iso'
import { FrontPage } from '../front/front-page.tsx'
import { arrive } from './arrival.ts'
import { FaultBoundary } from './fault-boundary.tsx'
import { LostPage } from './lost-page.tsx'
import { NowherePage } from './nowhere-page.tsx'

/** A page whose script comes when it is opened, while the one before stays in sight. */
function later<Props>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  return lazy<ComponentType<Props>>(() => load().catch(() => LostPage))
}

// Every address here has to be in server/api/page-paths.ts, too. All but the front page are loaded when they are first opened.
const ClaimPage = later(() => import('../claim/claim-page.tsx').then((it) => it.ClaimPage))
const SignInPage = later(() => import('../sign-in/sign-in-page.tsx').then((it) => it.SignInPage))
const SitesPage = later(() => import('../sites/sites-page.tsx').then((it) => it.SitesPage))
const SitePage = later(() => import('../site/site-page.tsx').then((it) => it.SitePage))
const DomainsPage = later(() => import('../domains/domains-page.tsx').then((it) => it.DomainsPage))
const AccountPage = later(() => import('../account/account-page.tsx').then((it) => it.AccountPage))

/** What is not ours to show: links there leave the page. */
const OURS = /^\/(?!docs|api\/|assets\/)/

export function Locations({ children }: { children: ComponentChildren }) {
  return <LocationProvider scope={OURS}>{children}</LocationProvider>
}

/** The table of pages. */
export function Pages() {
  const { path } = useLocation()
  return (
    <ErrorBoundary>
      <FaultBoundary path={path}>
        <Router onRouteChange={arrive}>
          <Route path="/" component={FrontPage} />
          <Route path="/claim" component={ClaimPage} />
          <Route path="/sign-in" component={SignInPage} />
          <Route path="/sites" component={SitesPage} />
          <Route path="/sites/:slug/:view?" component={SitePage} />
          <Route path="/domains" component={DomainsPage} />
          <Route path="/account" component={AccountPage} />
          <Route default component={NowherePage} />
        </Router>
      </FaultBoundary>
    </ErrorBoundary>
  )
}
