import { toDisplayError } from '../api/display-error.ts'
import { slipway } from '../api/slipway.ts'
import { showToast } from '../kit/toast.tsx'
import { undoVersion } from './undo-version.ts'

/** Makes the published version before the live one live again, and offers to undo that. */
export async function rollBack(slug: string, onRestored: () => void): Promise<void> {
  try {
    const { versions } = await slipway.versions(slug)
    const older = versions.slice(versions.findIndex(({ current }) => current) + 1)
    const previous = older.find(({ publishedAt }) => publishedAt !== null)
    if (!previous) return showToast('No earlier version is saved.')
    const { versionId } = previous
    const { previousVersionId } = await slipway.restore(slug, versionId)
    onRestored()
    showToast(
      'Rolled back to the previous version.',
      undoVersion({ slug, versionId, previousVersionId, onRestored }),
    )
  } catch (error) {
    showToast(`Couldn't roll back. ${toDisplayError(error).title}`)
  }
}
