import { useAction } from '../api/action.ts'
import { slipway } from '../api/slipway.ts'
import { Switch } from '../kit/field.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { showToast } from '../kit/toast.tsx'
import { hasRootDocument } from './document-metadata.ts'
import type { SettingsProps } from './settings-props.ts'

/** The response to unknown paths. */
export function Routing({ site, onChanged }: SettingsProps) {
  const set = useAction(async (spaMode: boolean) => {
    onChanged(await slipway.setMetadata(site.slug, { spaMode }))
    showToast(
      spaMode ? 'Pages without a file get index.html now.' : 'Pages without a file are not found now.',
    )
  })
  return (
    <Panel title="Addresses without a file">
      <Switch
        label="Single-page application"
        hint="A page that has no file gets index.html, so that the application shows it. Missing scripts, styles and pictures stay missing."
        on={site.spaMode}
        busy={set.busy}
        onSwitch={set}
      />
      {site.spaMode && !hasRootDocument(site) && (
        <p>There is no index.html at the root of the site yet, so this changes nothing.</p>
      )}
      <ErrorNotice error={set.error} />
    </Panel>
  )
}
