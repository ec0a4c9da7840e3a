import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import type { Action } from '../api/action.ts'
import { settings as serverSettings } from '../api/settings.ts'
import { Button } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { Switch } from '../kit/field.tsx'
import { Panel } from '../kit/panel.tsx'
import { type PageSection, Section, Sectioned } from '../kit/side-list.tsx'
import { DeleteSite, describeDeletion } from './delete-site.tsx'
import { hasRootDocument } from './document-metadata.ts'
import { Access } from './settings-access.tsx'
import { Copies } from './settings-copies.tsx'
import { Expiry } from './settings-expiry.tsx'
import { LinkPreview } from './settings-link-preview.tsx'
import { SiteName } from './settings-name.tsx'
import { People } from './settings-people.tsx'
import { SaveBar } from './settings-save-bar.tsx'
import { DomainsPanel } from './site-domains.tsx'
import type { SettingsProps } from './use-settings.ts'
import { type OnChanged, type Settings, useSettings } from './use-settings.ts'

/** A collaborator does not see what only the owner can change. */
const SECTIONS: PageSection[] = [
  { id: 'general', name: 'General' },
  { id: 'link-preview', name: 'Link preview' },
  { id: 'access', name: 'Access' },
  { id: 'routing', name: 'Routing' },
  { id: 'people', name: 'People' },
  { id: 'domains', name: 'Domains' },
  { id: 'danger-zone', name: 'Danger zone', isDanger: true },
]

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
  const isOwner = site.role === 'owner'
  const hasDomains = serverSettings.customDomains && isOwner
  const hidden = [...(isOwner ? [] : ['access', 'danger-zone']), ...(hasDomains ? [] : ['domains'])]
  return (
    <>
      <Sectioned
        label="Settings"
        class="settings"
        sections={SECTIONS.filter(({ id }) => !hidden.includes(id))}
      >
        <DraftForm {...props} box={box} onSubmit={submit} onPublished={onPublished} />
        <Section id="people">
          <People site={site} />
        </Section>
        {hasDomains && (
          <Section id="domains">
            <DomainsPanel slug={site.slug} />
          </Section>
        )}
        {isOwner && (
          <Section id="danger-zone">
            <DangerZone site={site} />
          </Section>
        )}
        {isChanged && <SaveBar settings={settings} canSave={canSave} onSave={submit} />}
      </Sectioned>
      {isConfirming && (
        <RemovePassword action={Object.assign(saveNow, save)} onClose={() => setConfirming(false)} />
      )}
    </>
  )
}

interface DraftFormProps extends Pick<SettingsViewProps, 'site' | 'onPublished'> {
  settings: Settings
  box: RefObject<HTMLFormElement | null>
  onSubmit: () => void
}

/** The sections that are saved together. */
function DraftForm({ site, settings, box, onSubmit, onPublished }: DraftFormProps) {
  const props = { site, settings }
  return (
    <form class="stack" ref={box} tabIndex={-1} onKeyDown={(event) => submitOnEnter(event, onSubmit)}>
      <Section id="general">
        <General {...props} />
      </Section>
      <Section id="link-preview">
        <LinkPreview {...props} onPublished={onPublished} />
      </Section>
      {site.role === 'owner' && (
        <Section id="access">
          <Access {...props} />
        </Section>
      )}
      <Section id="routing">
        <Routing {...props} />
      </Section>
    </form>
  )
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

/** The name, expiry and copies of the site; collaborators can only copy it. */
function General(props: SettingsProps) {
  const isOwner = props.site.role === 'owner'
  return (
    <Panel title="General">
      {isOwner && <SiteName key={props.site.slug} site={props.site} />}
      {isOwner && <Expiry {...props} />}
      <Copies site={props.site} />
    </Panel>
  )
}

/** The response to unknown paths. */
function Routing({ site, settings }: SettingsProps) {
  const { spaMode } = settings.values
  return (
    <Panel title="Routing">
      <Switch
        label="Single-page app"
        hint="Serve index.html for unknown paths. Missing assets still return 404."
        on={spaMode}
        onSwitch={(on) => settings.change({ spaMode: on })}
      />
      {spaMode && !hasRootDocument(site) && (
        <p class="small">Has no effect yet: this site has no index.html in its top folder.</p>
      )}
    </Panel>
  )
}

/** Deletes the site. */
function DangerZone({ site }: { site: SiteDetails }) {
  const [isConfirming, setConfirming] = useState(false)
  return (
    <section class="panel stack danger-zone" aria-labelledby="danger-zone-title">
      <h2 id="danger-zone-title">Danger zone</h2>
      <div class="panel-head">
        <div>
          <h3>Delete site</h3>
          <p class="quiet small">{describeDeletion(site)}</p>
        </div>
        <Button variant="danger" onClick={() => setConfirming(true)}>
          Delete site
        </Button>
      </div>
      {isConfirming && <DeleteSite site={site} onClose={() => setConfirming(false)} />}
    </section>
  )
}
