import { truncate } from '../../protocol/format.ts'
// With this chunk: later it may be out of reach.
import '../../client/sdk/publish.ts'
import type { Published } from '../../client/sdk/slipway.ts'
import { MAX_MESSAGE_LENGTH } from '../../protocol/api/publish.ts'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { invalidate } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { showToast } from '../kit/toast.tsx'
import { drawVersion } from '../thumbnail/draw-version.ts'
import { undoVersion } from './undo-version.ts'

export interface SiteChange {
  /** Files to add or replace, by path, with their types. */
  put?: Record<string, Blob>
  /** Paths of files to delete. */
  delete?: string[]
  /** The link preview's image. */
  ogImagePath?: string
  /** Fingerprints of secrets in the files that may be public. */
  allowSecrets?: string[]
  /** Fail with VERSION_CONFLICT unless this version is live; otherwise the change applies to the live version. */
  baseVersionId?: string | null
  /** Noted with the version. */
  message: string
  /** What was done, for the notification with its Undo. */
  done: string
}

/** Publishes a version with these files changed, and offers to undo it. `onLive` is called after either. */
export async function publishChange(
  { slug, files: known }: Pick<SiteDetails, 'slug' | 'files'>,
  { put = {}, delete: deleted, baseVersionId, message, done, ...metadata }: SiteChange,
  onLive: () => void,
): Promise<Published> {
  const files = Object.entries(put).map(([path, bytes]) => ({
    path,
    size: bytes.size,
    contentType: bytes.type,
    open: () => bytes,
  }))
  const published = await slipway.publish({
    slug,
    files,
    merge: true,
    ifChanged: true,
    message: truncate(message, MAX_MESSAGE_LENGTH),
    ...(deleted && { delete: deleted }),
    ...(baseVersionId && { baseVersionId }),
    ...metadata,
  })
  const refresh = () => {
    invalidate('sites', `site/${slug}/versions`)
    onLive()
  }
  refresh()
  const { versionId, previousVersionId, unchanged, warnings = [] } = published
  const [warning] = warnings.map((one) => ` Warning: ${one.file}: ${one.message}`)
  if (unchanged) {
    showToast('No files changed.')
    return published
  }
  const undo = undoVersion({ slug, versionId, previousVersionId, onRestored: refresh })
  showToast(done + (warning ?? ''), undo)
  const atHand = Object.entries(put).map(([path, bytes]) => ({
    path,
    size: bytes.size,
    open: async () => bytes,
  }))
  const manifest = known.filter(({ path }) => !deleted?.includes(path))
  void drawVersion(published, atHand, manifest)
  return published
}
