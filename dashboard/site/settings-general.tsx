import { Panel } from '../kit/panel.tsx'
import { Copies } from './settings-copies.tsx'
import { Expiry } from './settings-expiry.tsx'
import { SiteName } from './settings-name.tsx'
import type { SettingsProps } from './use-settings.ts'

/** The name, expiry and copies of the site. */
export function General(props: SettingsProps) {
  return (
    <Panel title="General">
      <SiteName key={props.site.slug} site={props.site} />
      <Expiry {...props} />
      <Copies site={props.site} />
    </Panel>
  )
}
