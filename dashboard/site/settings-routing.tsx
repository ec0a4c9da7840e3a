import { Switch } from '../kit/field.tsx'
import { Panel } from '../kit/panel.tsx'
import { hasRootDocument } from './document-metadata.ts'
import type { SettingsProps } from './use-settings.ts'

/** The response to unknown paths. */
export function Routing({ site, settings: { draft, change } }: SettingsProps) {
  const spaMode = draft.spaMode ?? site.spaMode
  return (
    <Panel title="Routing">
      <Switch
        label="Single-page app"
        hint="Serve index.html for unknown paths. Missing assets still return 404."
        on={spaMode}
        onSwitch={(on) => change({ spaMode: on })}
      />
      {spaMode && !hasRootDocument(site) && (
        <p class="small">Has no effect yet: this site has no index.html in its top folder.</p>
      )}
    </Panel>
  )
}
