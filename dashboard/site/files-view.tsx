import type { SiteDetails } from '../../client/wire.ts'
import { Panel } from '../kit/panel.tsx'

export function FilesView({ site }: { site: SiteDetails }) {
  return <Panel title="Files" lead={site.slug} />
}
