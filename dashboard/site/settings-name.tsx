import { useState } from 'preact/hooks'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { type Action, useAction } from '../api/action.ts'
import { invalidate } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { siteAddress } from '../app/site-address.ts'
import { useGuardedNavigate } from '../app/use-guarded-navigate.ts'
import { moveJob } from '../drop/jobs.ts'
import { Button } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { showToast } from '../kit/toast.tsx'
import { toHost } from '../sites/address.ts'
import { NameField, NameSuggestion, onEnter, useNameChoice } from './name-field.tsx'
import { moveDraft } from './settings-draft.ts'

/** Renames a site: the name is the first part of its URL. */
export function SiteName({ site: { slug, title } }: { site: SiteDetails }) {
  const choice = useNameChoice(slug)
  const { typed, name, write, isAvailable } = choice
  const [isConfirming, setConfirming] = useState(false)
  const navigate = useGuardedNavigate()
  const rename = useAction(async () => {
    const renamed = await slipway.renameSite(slug, name)
    moveDraft(slug, renamed.slug)
    moveJob(slug, renamed.slug)
    invalidate('sites', `site/${slug}`, 'domains', 'name')
    navigate(`/sites/${renamed.slug}/settings`, true)
    showToast('Site renamed. The old URL redirects for 30 days.')
  })
  const open = () => isAvailable && setConfirming(true)
  return (
    <fieldset class="site-name" onKeyDown={(event) => onEnter(event, open)}>
      <NameField label="Site name" slug={slug} choice={choice} />
      <Button disabled={!isAvailable} onClick={open}>
        Rename site
      </Button>
      <NameSuggestion
        texts={[typed, title ?? '']}
        known={[name, slug]}
        isNeeded={!isAvailable}
        onUse={write}
      />
      {isConfirming && <RenameQuestion name={name} action={rename} onClose={() => setConfirming(false)} />}
    </fieldset>
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
