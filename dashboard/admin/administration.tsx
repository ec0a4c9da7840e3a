import type { ComponentType } from 'preact'
import { useRoute } from 'preact-iso'
import { NotFoundPage } from '../app/not-found-page.tsx'
import { Page } from '../app/page.tsx'
import { SideList } from '../kit/side-list.tsx'
import { AccountsView } from './accounts-view.tsx'
import { AuditView } from './audit-view.tsx'
import { BlocksView } from './blocks-view.tsx'
import { CertificatesView } from './certificates-view.tsx'
import { DomainsView } from './domains-view.tsx'
import { NodesView } from './nodes-view.tsx'
import { OverviewView } from './overview-view.tsx'
import { PoliciesView } from './policies-view.tsx'
import { ReportsView } from './reports-view.tsx'
import { SitesView } from './sites-view.tsx'
import { SweepsView } from './sweeps-view.tsx'
import { ADMIN_VIEWS, type AdminView, adminPath } from './views.ts'

const VIEWS: Record<AdminView, ComponentType> = {
  '': OverviewView,
  reports: ReportsView,
  sites: SitesView,
  accounts: AccountsView,
  domains: DomainsView,
  blocks: BlocksView,
  policies: PoliciesView,
  certificates: CertificatesView,
  sweeps: SweepsView,
  nodes: NodesView,
  audit: AuditView,
}

/** The pages of administrators. */
export function Administration() {
  const { view = '' } = useRoute().params
  if (!isAdminView(view)) return <NotFoundPage />
  const name = ADMIN_VIEWS[view]
  const View = VIEWS[view]
  return (
    <Page title={view === '' ? 'Administration' : `${name} · Administration`} heading="Administration">
      <div class="sided broad">
        <SideList
          label="Administration"
          links={Object.entries(ADMIN_VIEWS).map(([path, name]) => ({ href: adminPath(path), name }))}
          current={adminPath(view)}
        />
        <div class="stack wide">
          <View />
        </div>
      </div>
    </Page>
  )
}

function isAdminView(view: string): view is AdminView {
  return Object.hasOwn(ADMIN_VIEWS, view)
}
