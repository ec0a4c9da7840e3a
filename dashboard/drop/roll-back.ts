import { toDisplayError } from '../api/display-error.ts'
import { invalidate } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { showToast } from '../kit/toast.tsx'

interface RollBackOptions {
  /** The version to roll back, unless another one has replaced it. */
  versionId: string
  previousVersionId: string
}

/** Makes the previous version live again, and shows the result as a toast. */
export async function rollBack(
  slug: string,
  { versionId, previousVersionId }: RollBackOptions,
): Promise<void> {
  try {
    const { currentVersionId } = await slipway.details(slug)
    if (currentVersionId !== versionId) return showToast("Couldn't undo: a newer version is already live.")
    await slipway.restore(slug, previousVersionId)
    invalidate('sites', `site/${slug}`)
    showToast('Rolled back.')
  } catch (error) {
    showToast(`Couldn't undo. ${toDisplayError(error).title}`)
  }
}
