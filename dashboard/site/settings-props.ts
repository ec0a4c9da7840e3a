import type { SiteDetails } from '../../client/wire.ts'

export interface SettingsProps {
  site: SiteDetails
  /** Receives the site after a change. */
  onChanged: (site: SiteDetails) => void
}
