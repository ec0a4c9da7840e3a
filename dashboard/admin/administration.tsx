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

interface AdminView {
  /** The last segment of its path; the overview has none. */
  path: string
  name: string
  View: ComponentType
}

/** The pages of the administration, in their order. */
const VIEWS: readonly AdminView[] = [
  { path: '', name: 'Overview', View: OverviewView },
  { path: 'reports', name: 'Reports', View: ReportsView },
  { path: 'sites', name: 'Sites', View: SitesView },
  { path: 'accounts', name: 'Accounts', View: AccountsView },
  { path: 'domains', name: 'Domains', View: DomainsView },
  { path: 'blocks', name: 'Blocks', View: BlocksView },
  { path: 'policies', name: 'Policies', View: PoliciesView },
  { path: 'certificates', name: 'Certificates', View: CertificatesView },
  { path: 'sweeps', name: 'Sweeps', View: SweepsView },
  { path: 'nodes', name: 'Nodes', View: NodesView },
  { path: 'audit', name: 'Audit log', View: AuditView },
]

/** The pages of administrators. */
export function Administration() {
  const { view = '' } = useRoute().params
  const shown = VIEWS.find(({ path }) => path === view)
  if (!shown) return <NotFoundPage />
  const { name, View } = shown
  return (
    <Page title={view === '' ? 'Administration' : `${name} · Administration`} heading="Administration">
      <div class="sided broad">
        <SideList
          label="Administration"
          links={VIEWS.map(({ path, name }) => ({ href: toPath(path), name }))}
          current={toPath(view)}
        />
        <div class="stack wide">
          <View />
        </div>
      </div>
    </Page>
  )
}

function toPath(view: string): string {
  return view === '' ? '/admin' : `/admin/${view}`
}
