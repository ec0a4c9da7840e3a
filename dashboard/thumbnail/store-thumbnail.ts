import { invalidate } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { describeAnonymous } from '../drop/anonymous-sites.ts'
import type { CollectedFile } from '../drop/collect-files.ts'
import type { DeliveryResult } from '../drop/delivery.ts'
import { drawThumbnail, whenIdle } from './draw-thumbnail.ts'
import { SiteFiles } from './site-files.ts'

/** Time-out of a drawing in milliseconds. */
const DRAW_TIMEOUT_MS = 20_000

/**
 * Draws the start page of a published version and stores the picture as its thumbnail. The user does not wait for
 * it: a failure is a message in the console.
 */
export async function storeThumbnail(
  { published: { slug, versionId }, anonymous }: DeliveryResult,
  files: readonly CollectedFile[],
  inflate: (entry: number) => Promise<Blob>,
): Promise<void> {
  const startPath = findStart(files)
  if (startPath === undefined) return
  try {
    await whenIdle()
    const picture = await withTimeout(drawThumbnail(startPath, new SiteFiles(files, inflate)))
    if (!picture) return
    const { thumbnailUrl } = await slipway.putThumbnail(slug, versionId, picture, anonymous?.claimToken)
    if (anonymous) describeAnonymous(slug, { thumbnailUrl })
    invalidate('sites', `site/${slug}`)
  } catch (error) {
    console.debug('No thumbnail was stored:', error)
  }
}

/** The start page, or the only file. */
function findStart(files: readonly CollectedFile[]): string | undefined {
  const isStart = ({ path }: CollectedFile) => path === 'index.html'
  return files.length === 1 ? files[0]!.path : files.find(isStart)?.path
}

function withTimeout<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timeout = new DOMException('The drawing takes too long', 'TimeoutError')
    const timer = setTimeout(() => reject(timeout), DRAW_TIMEOUT_MS)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
