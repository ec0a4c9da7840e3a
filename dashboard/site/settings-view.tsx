import type { SiteDetails } from '../../client/wire.ts'
import { Copies } from './settings-copies.tsx'
import { Deletion } from './settings-deletion.tsx'
import { Lifetime } from './settings-lifetime.tsx'
import { Password } from './settings-password.tsx'
import { Routing } from './settings-routing.tsx'
import { Sharing } from './settings-sharing.tsx'

export interface SettingsProps {
  site: SiteDetails
  /** Hears what the site is after a change. */
  onChanged: (site: SiteDetails) => void
}

/** All that can be set for a site, each part with its own way to save it. */
export function SettingsView(props: SettingsProps) {
  return (
    <div class="settings stack">
      <Sharing {...props} />
      <Password {...props} />
      <Routing {...props} />
      <Lifetime {...props} />
      <Copies site={props.site} />
      <Deletion site={props.site} />
    </div>
  )
}
