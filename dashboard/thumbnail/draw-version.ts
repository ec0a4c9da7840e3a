import type { FileEntry } from '../../protocol/api/fields.schema.ts'
import type { SourceFile } from './site-files.ts'
import type { DrawnVersion } from './store-thumbnail.ts'

/** Versions that this tab has drawn, or could not draw. */
const drawn = new Set<string>()

export function isDrawn(versionId: string): boolean {
  return drawn.has(versionId)
}

/**
 * Draws the start page of a published version and stores the picture as its thumbnail. The user does not wait for it: a
 * failure is a message in the console.
 *
 * @param atHand The files of the version that need no download.
 * @param manifest Others of the site, except those with the path of one at hand.
 */
export async function drawVersion(
  version: DrawnVersion,
  atHand: readonly SourceFile[],
  manifest: readonly FileEntry[] = [],
): Promise<void> {
  drawn.add(version.versionId)
  try {
    const { storeThumbnail } = await import('./store-thumbnail.ts')
    await storeThumbnail(version, atHand, manifest)
  } catch (error) {
    console.debug('No thumbnail was stored:', error)
  }
}
