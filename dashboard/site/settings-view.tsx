import type { SiteDetails } from '../../client/wire.ts'
import { Panel } from '../kit/panel.tsx'

interface SettingsViewProps {
  site: SiteDetails
  /** What the site is after a change. */
  onChanged: (site: SiteDetails) => void
}

/** What can be changed about a site without publishing it again. */
export function SettingsView({ site }: SettingsViewProps) {
  return <Panel title="Settings" lead={site.slug} />
}
