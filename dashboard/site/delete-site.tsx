import { useState } from 'preact/hooks'
import type { SiteSummary } from '../../protocol/api/sites.ts'
import { useAction } from '../api/action.ts'
import { invalidate } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { useGuardedNavigate } from '../app/use-guarded-navigate.ts'
import { Confirm } from '../kit/dialog.tsx'
import { TextField } from '../kit/field.tsx'
import { showToast } from '../kit/toast.tsx'
import { setDraft } from './settings-draft.ts'

interface DeleteSiteProps {
  site: Pick<SiteSummary, 'slug' | 'title'>
  onClose: () => void
  /** Called in place of opening the list of sites. */
  onDeleted?: () => void
}

/** Deletes a site once its address was typed. */
export function DeleteSite({ site: { slug, title }, onClose, onDeleted }: DeleteSiteProps) {
  const [typed, type] = useState('')
  const navigate = useGuardedNavigate()
  const remove = useAction(async () => {
    await slipway.delete(slug)
    setDraft(slug, {})
    invalidate('sites', `site/${slug}`, 'domains')
    if (onDeleted) onDeleted()
    else navigate('/sites', true)
    showToast(`${title ?? slug} deleted.`)
  })
  return (
    <Confirm
      title={`Delete ${title ?? slug}?`}
      verb="Delete site"
      action={remove}
      ready={typed.trim() === slug}
      onClose={onClose}
    >
      <p>This permanently deletes its files, versions, analytics and domains. The address can't be reused.</p>
      <TextField
        label={`Type ${slug} to confirm`}
        autocapitalize="none"
        autocomplete="off"
        value={typed}
        onWrite={type}
      />
    </Confirm>
  )
}
