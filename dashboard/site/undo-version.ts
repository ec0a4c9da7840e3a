import { toDisplayError } from '../api/display-error.ts'
import { slipway } from '../api/slipway.ts'
import { showToast } from '../kit/toast.tsx'

interface UndoOptions {
  slug: string
  /** The version that went live. */
  versionId: string
  /** The version before; null when there was none. */
  previousVersionId: string | null
  /** Makes a version live; by default with an API call. */
  restore?: (versionId: string) => Promise<unknown>
  onRestored?: () => void
}

/** Restores the version before, unless another one went live since; undefined when there is none. */
export function undoVersion(options: UndoOptions): (() => Promise<void>) | undefined {
  const { slug, versionId, previousVersionId, onRestored } = options
  const { restore = (id: string) => slipway.restore(slug, id) } = options
  if (previousVersionId === null || previousVersionId === versionId) return undefined
  return async () => {
    try {
      const { currentVersionId } = await slipway.details(slug)
      if (currentVersionId !== versionId) {
        showToast("Couldn't undo: a newer version is already live.")
        return
      }
      await restore(previousVersionId)
      onRestored?.()
      showToast('Undone. The previous version is live.')
    } catch (error) {
      showToast(`Couldn't undo. ${toDisplayError(error).title}`)
    }
  }
}
