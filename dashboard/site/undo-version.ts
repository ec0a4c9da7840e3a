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
      showToast(describeFailure('undo', error))
    }
  }
}

export function describeFailure(what: string, error: unknown): string {
  if (isSlipwayError(error, 'VERSION_CONFLICT')) return `Couldn't ${what}: a newer version is already live.`
  return `Couldn't ${what}. ${toDisplayError(error).title}`
}
