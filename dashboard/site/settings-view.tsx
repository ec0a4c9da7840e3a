import { Copies } from './settings-copies.tsx'
import { Deletion } from './settings-deletion.tsx'
import { Lifetime } from './settings-lifetime.tsx'
import { Password } from './settings-password.tsx'
import type { SettingsProps } from './settings-props.ts'
import { Routing } from './settings-routing.tsx'
import { Sharing } from './settings-sharing.tsx'

/** All settings of a site, each section with a save button. */
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
