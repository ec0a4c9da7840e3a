import type { SiteDetails } from '../../client/wire.ts'
import { Panel } from '../kit/panel.tsx'

export function VersionsView({ site }: { site: SiteDetails; onRestored: () => void }) {
  return <Panel title="Versions" lead={site.slug} />
}
