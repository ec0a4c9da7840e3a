import { useState } from 'preact/hooks'
import type { NameCheck, SiteDetails } from '../../protocol/api/sites.ts'
import { MAX_NAME_LENGTH, suggestName } from '../../protocol/site-name.ts'
import { type Action, useAction } from '../api/action.ts'
import { invalidate, type Resource, useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { siteAddress } from '../app/site-address.ts'
import { useDebounced } from '../app/use-debounced.ts'
import { useGuardedNavigate } from '../app/use-guarded-navigate.ts'
import { Button } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { TextField } from '../kit/field.tsx'
import { showToast } from '../kit/toast.tsx'
import { toHost } from '../sites/address.ts'
import { moveDraft } from './settings-draft.ts'

/** Renames a site: the name is the first part of its URL. */
export function SiteName({ site: { slug, title } }: { site: SiteDetails }) {
  const [typed, write] = useState(slug)
  const [isConfirming, setConfirming] = useState(false)
  const navigate = useGuardedNavigate()
  const name = typed.trim().toLowerCase()
  const settled = useDebounced(name)
  const isNew = name !== slug && name !== ''
  const check = useResource(isNew && settled === name ? `name/${name}` : undefined, () =>
    slipway.checkName(name),
  )
  const rename = useAction(async () => {
    const renamed = await slipway.renameSite(slug, name)
    moveDraft(slug, renamed.slug)
    invalidate('sites', `site/${slug}`, 'domains', 'name')
    navigate(`/sites/${renamed.slug}/settings`, true)
    showToast('Site renamed. The old URL redirects for 30 days.')
  })
  const isAvailable = isNew && check.value?.available === true
  const open = () => isAvailable && setConfirming(true)
  return (
    <fieldset class="site-name" onKeyDown={(event) => onEnter(event, open)}>
      <TextField
        label="Site name"
        value={typed}
        maxLength={MAX_NAME_LENGTH}
        autocapitalize="none"
        autocomplete="off"
        hint={<span role="status">{isNew ? describe(name, check) : toHost(siteAddress(slug))}</span>}
        error={isNew ? check.value?.reason : undefined}
        onWrite={write}
      />
      <Button disabled={!isAvailable} onClick={open}>
        Rename site
      </Button>
      {!isAvailable && <Suggestion texts={[typed, title ?? '']} known={[name, slug]} onUse={write} />}
      {isConfirming && (
        <RenameQuestion
          name={name}
          action={rename}
          onClose={() => {
            setConfirming(false)
            rename.clear()
          }}
        />
      )}
    </fieldset>
  )
}

interface SuggestionProps {
  /** A name is made from the first text that allows one. */
  texts: string[]
  /** Names that are not suggested. */
  known: string[]
  onUse: (name: string) => void
}

function Suggestion({ texts, known, onUse }: SuggestionProps) {
  const name = texts.map(suggestName).find((one) => one !== undefined && !known.includes(one))
  if (name === undefined) return null
  return (
    <p class="small">
      <Button variant="link" onClick={() => onUse(name)}>
        Use {name}
      </Button>
    </p>
  )
}

function RenameQuestion({ name, ...rest }: { name: string; action: Action<[]>; onClose: () => void }) {
  return (
    <Confirm title={`Rename to ${name}?`} verb="Rename site" variant="main" {...rest}>
      <p>
        The site moves to <strong>{toHost(siteAddress(name))}</strong>. The old URL redirects for 30 days.
      </p>
    </Confirm>
  )
}

function describe(name: string, { value, error }: Resource<NameCheck>): string {
  if (error) return error.title
  if (!value) return 'Checking…'
  return value.available ? `${toHost(siteAddress(name))} is available` : ''
}

function onEnter(event: KeyboardEvent, act: () => void): void {
  if (event.key !== 'Enter' || !(event.target instanceof HTMLInputElement)) return
  event.preventDefault()
  event.stopPropagation()
  act()
}
