import type { StoredFile } from './file.ts'
import type { Front } from './front/front.ts'
import type { Writing } from './store/store.ts'

/**
 * The site names exactly the blobs of its versions from here on: of their manifests, of their fronts and of what has
 * come for them.
 */
export async function releaseNames(tx: Writing, slug: string, now: number): Promise<void> {
  const needed = new Set(await tx.versions.arrivedHashes(slug))
  for (const { files, front } of await tx.versions.manifestsOf(slug)) {
    for (const file of JSON.parse(files) as StoredFile[]) if (file.hash) needed.add(file.hash)
    if (front !== null) needed.add((JSON.parse(front) as Front).hash)
  }
  const unneeded = (await tx.blobNames.of(slug)).filter((hash) => !needed.has(hash))
  if (unneeded.length > 0) await tx.blobNames.unname(slug, unneeded, now)
}
