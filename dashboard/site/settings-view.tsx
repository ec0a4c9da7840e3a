import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { SiteDetails } from '../../protocol/api/sites.ts'
import type { Action } from '../api/action.ts'
import { settings as serverSettings } from '../api/settings.ts'
import { Confirm } from '../kit/dialog.tsx'
import { Access } from './settings-access.tsx'
import { DangerZone } from './settings-danger.tsx'
import { General } from './settings-general.tsx'
import { LinkPreview } from './settings-link-preview.tsx'
import { People } from './settings-people.tsx'
import { Routing } from './settings-routing.tsx'
import { SaveBar } from './settings-save-bar.tsx'
import { SectionList, SettingsSection, type ShownSections } from './settings-sections.tsx'
import { DomainsPanel } from './site-domains.tsx'
import { type OnChanged, type Settings, useSettings } from './use-settings.ts'

interface SettingsViewProps {
  site: SiteDetails
  onChanged: OnChanged
  /** Called when another version is live. */
  onPublished: () => void
}

/** All settings of a site. Changes are kept in a draft, and saved together. */
export function SettingsView({ site, onChanged, onPublished }: SettingsViewProps) {
  const settings = useSettings(site, onChanged)
  const [isConfirming, setConfirming] = useState(false)
  const box = useFocusAfterSaving(settings)
  const { draft, errors, isChanged, save } = settings
  const canSave = isChanged && Object.keys(errors).length === 0 && !save.busy
  const saveNow = async () => {
    await save()
    setConfirming(false)
  }
  const submit = () => {
    if (!canSave) return
    if (draft.password === null) setConfirming(true)
    else void saveNow()
  }
  const props = { site, settings }
  const shown = toShownSections(site)
  return (
    <div class="settings">
      <SectionList shown={shown} />
      <div class="stack">
        <form class="stack" ref={box} tabIndex={-1} onKeyDown={(event) => submitOnEnter(event, submit)}>
          <SettingsSection id="general">
            <General {...props} />
          </SettingsSection>
          <SettingsSection id="link-preview">
            <LinkPreview {...props} onPublished={onPublished} />
          </SettingsSection>
          <SettingsSection id="access" shown={shown}>
            <Access {...props} />
          </SettingsSection>
          <SettingsSection id="routing">
            <Routing {...props} />
          </SettingsSection>
        </form>
        <SettingsSection id="people">
          <People site={site} />
        </SettingsSection>
        <SettingsSection id="domains" shown={shown}>
          <DomainsPanel slug={site.slug} />
        </SettingsSection>
        <SettingsSection id="danger-zone" shown={shown}>
          <DangerZone site={site} />
        </SettingsSection>
        {isChanged && <SaveBar settings={settings} canSave={canSave} onSave={submit} />}
      </div>
      {isConfirming && (
        <RemovePassword action={Object.assign(saveNow, save)} onClose={() => setConfirming(false)} />
      )}
    </div>
  )
}

/** A collaborator does not see what only the owner can change. */
function toShownSections({ role }: SiteDetails): ShownSections {
  const isOwner = role === 'owner'
  return { access: isOwner, domains: serverSettings.customDomains && isOwner, 'danger-zone': isOwner }
}

/** The browser would submit only a form with one field; a dialog in the form has its own. */
function submitOnEnter(event: KeyboardEvent, submit: () => void): void {
  const { key, target } = event
  if (key !== 'Enter' || !(target instanceof HTMLInputElement)) return
  if (target.closest('dialog')) return
  event.preventDefault()
  submit()
}

/** The form to focus when the save bar is removed with the pressed button; any other focus stays. */
function useFocusAfterSaving({ isChanged }: Settings): RefObject<HTMLFormElement | null> {
  const box = useRef<HTMLFormElement>(null)
  const wasChanged = useRef(isChanged)
  useEffect(() => {
    const isFocusLost = document.activeElement === document.body
    if (wasChanged.current && !isChanged && isFocusLost) box.current?.focus({ preventScroll: true })
    wasChanged.current = isChanged
  }, [isChanged])
  return box
}

function RemovePassword(props: { action: Action<[]>; onClose: () => void }) {
  return (
    <Confirm title="Remove password?" verb="Remove password" {...props}>
      <p>Anyone with the link will be able to view this site.</p>
    </Confirm>
  )
}
