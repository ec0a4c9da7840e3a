import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { slipway } from '../api/slipway.ts'
import { showToast } from '../kit/toast.tsx'
import { showFailure, undoVersion } from './undo-version.ts'

/** Makes the version that the live one replaced live again, unless another went live since; offers to undo that. */
export async function rollBack(
  { slug, currentVersionId }: Pick<SiteDetails, 'slug' | 'currentVersionId'>,
  onRestored: () => void,
): Promise<void> {
  try {
    const restored = await slipway.restore(slug, 'previous', currentVersionId ?? undefined)
    onRestored()
    showToast('Rolled back to the previous version.', undoVersion({ ...restored, onRestored }))
  } catch (error) {
    showFailure('roll back', error, onRestored)
  }
}
