import type { FileEntry } from '../../protocol/api/fields.schema.ts'
import { expire } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { describeAnonymous } from '../drop/anonymous-sites.ts'
import { drawThumbnail, whenIdle } from './draw-thumbnail.ts'
import { SiteFiles, type SourceFile } from './site-files.ts'
import { versionFiles } from './version-files.ts'

/** Time-out of a drawing in milliseconds. */
const DRAW_TIMEOUT_MS = 20_000

export interface DrawnVersion {
  slug: string
  versionId: string
  /** For a site without an owner. */
  claimToken?: string | undefined
}

/** See `drawVersion`. */
export async function storeThumbnail(
  version: DrawnVersion,
  atHand: readonly SourceFile[],
  manifest: readonly FileEntry[],
): Promise<void> {
  const files = versionFiles(version, atHand, manifest)
  const startPath = findStart(files)
  if (startPath === undefined) return
  await whenIdle()
  const picture = await withTimeout(drawThumbnail(startPath, new SiteFiles(files)))
  if (!picture) return
  const { slug, versionId, claimToken } = version
  const { thumbnailUrl } = await slipway.putThumbnail(slug, versionId, picture, claimToken)
  if (claimToken !== undefined) describeAnonymous(slug, { thumbnailUrl })
  // What is shown stays: the user may be changing it.
  expire('sites')
  expire(`site/${slug}`, { alone: true })
}

/** The start page, or the only file. */
function findStart(files: readonly SourceFile[]): string | undefined {
  const isStart = ({ path }: SourceFile) => path === 'index.html'
  return files.length === 1 ? files[0]!.path : files.find(isStart)?.path
}

function withTimeout<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timeout = new DOMException('Drawing the thumbnail timed out', 'TimeoutError')
    const timer = setTimeout(() => reject(timeout), DRAW_TIMEOUT_MS)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
