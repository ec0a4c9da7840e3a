import type { SiteDetails } from '../../protocol/api/sites.ts'

export interface SettingsProps {
  site: SiteDetails
  /** Receives the site after a change. */
  onChanged: (site: SiteDetails) => void
}
