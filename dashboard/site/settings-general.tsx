import { Panel } from '../kit/panel.tsx'
import { Copies } from './settings-copies.tsx'
import { Expiry } from './settings-expiry.tsx'
import { SiteName } from './settings-name.tsx'
import type { SettingsProps } from './use-settings.ts'

/** The name, expiry and copies of the site; collaborators can only copy it. */
export function General(props: SettingsProps) {
  const isOwner = props.site.role === 'owner'
  return (
    <Panel title="General">
      {isOwner && <SiteName key={props.site.slug} site={props.site} />}
      {isOwner && <Expiry {...props} />}
      <Copies site={props.site} />
    </Panel>
  )
}
