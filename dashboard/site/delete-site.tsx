import { useLocation } from 'preact-iso'
import type { SiteSummary } from '../../protocol/api/sites.schema.ts'
import { formatDuration } from '../../protocol/format.ts'
import { useAction } from '../api/action.ts'
import { toDisplayError } from '../api/display-error.ts'
import { invalidate } from '../api/resource.ts'
import { settings } from '../api/settings.ts'
import { slipway } from '../api/slipway.ts'
import { useGuardedNavigate } from '../app/use-guarded-navigate.ts'
import { Confirm } from '../kit/dialog.tsx'
import { showToast } from '../kit/toast.tsx'
import { setDraft } from './settings-draft.ts'

interface DeleteSiteProps {
  site: Pick<SiteSummary, 'slug' | 'title' | 'currentVersionId'>
  onClose: () => void
  /** Called in place of opening the list of sites, and of opening the site when the deletion is undone. */
  onDeleted?: () => void
}

/** What deleting a site does. */
export const DELETION =
  settings.trashLifetime > 0
    ? `This takes the site and its domains offline immediately. You can restore it from the trash for ${formatDuration(settings.trashLifetime)}.`
    : "This takes the site offline immediately and can't be undone. It deletes its files, versions, visits and domains."

/** Deletes a site; once its name was typed, where it cannot be restored. */
export function DeleteSite({ site: { slug, title, currentVersionId }, onClose, onDeleted }: DeleteSiteProps) {
  // A site without a version is not in the trash.
  const isRestorable = settings.trashLifetime > 0 && currentVersionId !== null
  const navigate = useGuardedNavigate()
  const { route } = useLocation()
  const restore = async () => {
    try {
      await slipway.undelete(slug)
      invalidate('sites', 'domains')
      if (onDeleted) onDeleted()
      else route(`/sites/${slug}`)
      showToast(`${title ?? slug} restored.`)
    } catch (error) {
      showToast(`Couldn't restore it. ${toDisplayError(error).title}`)
    }
  }
  const remove = useAction(async () => {
    await slipway.delete(slug)
    setDraft(slug, {})
    invalidate('sites', `site/${slug}`, 'domains')
    if (onDeleted) onDeleted()
    else navigate('/sites', true)
    showToast(`${title ?? slug} deleted.`, isRestorable ? restore : undefined)
  })
  return (
    <Confirm
      title={`Delete ${title ?? slug}?`}
      verb="Delete site"
      action={remove}
      {...(!isRestorable && { typed: { text: slug } })}
      onClose={onClose}
    >
      <p>{DELETION} The address can't be reused by another site.</p>
    </Confirm>
  )
}
