import { useLocation } from 'preact-iso'
import type { SiteSummary } from '../../protocol/api/sites.schema.ts'
import { formatDuration } from '../../protocol/format.ts'
import { useAction } from '../api/action.ts'
import { toDisplayError } from '../api/display-error.ts'
import { expire, invalidate, retries } from '../api/resource.ts'
import { settings } from '../api/settings.ts'
import { slipway } from '../api/slipway.ts'
import { useGuardedNavigate } from '../app/use-guarded-navigate.ts'
import { Confirm } from '../kit/dialog.tsx'
import { showToast } from '../kit/toast.tsx'
import { dropDraft } from './settings-draft.ts'

interface DeleteSiteProps {
  site: Pick<SiteSummary, 'slug' | 'title' | 'restorable'>
  onClose: () => void
  /** Called in place of opening the list of sites, and of opening the site when the deletion is undone. */
  onDeleted?: () => void
}

/** What deleting a site does. */
export function describeDeletion({ restorable }: Pick<SiteSummary, 'restorable'>): string {
  return restorable
    ? `This takes the site and its domains offline immediately. You can restore it from the trash for ${formatDuration(settings.trashLifetime)}.`
    : "This takes the site offline immediately and can't be undone. It deletes its files, versions, visits and domains."
}

/** Deletes a site; once its name was typed, where it cannot be restored. */
export function DeleteSite({ site, onClose, onDeleted }: DeleteSiteProps) {
  const { slug, title, restorable } = site
  const navigate = useGuardedNavigate()
  const { route } = useLocation()
  const restore = async (bringBack: () => void) => {
    try {
      await slipway.undelete(slug)
      bringBack()
      invalidate('sites', 'domains')
      // Its page may be open, and has failed.
      retries.value++
      if (onDeleted) onDeleted()
      else route(`/sites/${slug}`)
      showToast(`${title ?? slug} restored.`)
    } catch (error) {
      showToast(`Couldn't restore it. ${toDisplayError(error).title}`)
    }
  }
  const remove = useAction(async () => {
    const { deletedUntil } = await slipway.delete(slug)
    const bringBack = dropDraft(slug)
    invalidate('sites', 'domains')
    // Its page, with this dialog, stays until the script of the list is loaded, and would request what is deleted.
    expire(`site/${slug}`)
    if (onDeleted) {
      onClose()
      onDeleted()
    } else navigate('/sites', true)
    showToast(`${title ?? slug} deleted.`, deletedUntil === null ? undefined : () => restore(bringBack))
  })
  return (
    <Confirm
      title={`Delete ${title ?? slug}?`}
      verb="Delete site"
      action={remove}
      {...(!restorable && { typed: { text: slug } })}
      onClose={onClose}
    >
      <p>{describeDeletion(site)} The address can't be reused by another site.</p>
    </Confirm>
  )
}
