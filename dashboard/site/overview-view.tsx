import type { SiteDetails } from '../../client/wire.ts'
import { Panel } from '../kit/panel.tsx'

export function OverviewView({ site }: { site: SiteDetails }) {
  return <Panel title="Overview" lead={site.siteUrl} />
}
