import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import { toDisplayError } from '../api/display-error.ts'
import { slipway } from '../api/slipway.ts'
import { showToast } from '../kit/toast.tsx'

interface UndoOptions {
  slug: string
  /** The version that went live. */
  versionId: string
  /** The version before; null when there was none. */
  previousVersionId: string | null
  /** Makes a version live while the base is; by default with an API call. */
  restore?: (versionId: string, baseVersionId: string) => Promise<unknown>
  onRestored?: () => void
}

/** Restores the version before, unless another one went live since; undefined when there is none. */
export function undoVersion(options: UndoOptions): (() => Promise<void>) | undefined {
  const { slug, versionId, previousVersionId, onRestored } = options
  const { restore = (id: string, base: string) => slipway.restore(slug, id, base) } = options
  if (previousVersionId === null || previousVersionId === versionId) return undefined
  return async () => {
    try {
      await restore(previousVersionId, versionId)
      onRestored?.()
      showToast('Undone. The previous version is live.')
    } catch (error) {
      showFailure('undo', error, onRestored)
    }
  }
}

/** After a conflict, what is shown is out of date: `reload` reads it again. */
export function showFailure(what: string, error: unknown, reload?: () => void): void {
  const isConflict = isSlipwayError(error, 'VERSION_CONFLICT')
  showToast(
    isConflict
      ? `Couldn't ${what}: another version is live by now.`
      : `Couldn't ${what}. ${toDisplayError(error).title}`,
  )
  if (isConflict) reload?.()
}
