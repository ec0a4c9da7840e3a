import type { StoredFile } from '../../protocol/manifest/manifest.ts'
import type { WriteTransaction } from '../store/store.ts'
import type { RenderedIndex } from './page-metadata/rendered-document.ts'

/**
 * Sets the references of a site to exactly the blobs of its versions: their manifests, rendered index pages
 * and received files.
 */
export async function updateReferences(tx: WriteTransaction, slug: string, now: number): Promise<void> {
  const needed = new Set(await tx.versions.arrivedHashes(slug))
  for (const { files, front } of await tx.versions.manifestsOf(slug)) {
    for (const file of JSON.parse(files) as StoredFile[]) if (file.hash) needed.add(file.hash)
    if (front !== null) needed.add((JSON.parse(front) as RenderedIndex).hash)
  }
  const unneeded = (await tx.blobReferences.hashesOf(slug)).filter((hash) => !needed.has(hash))
  if (unneeded.length > 0) await tx.blobReferences.removeReferences(slug, unneeded, now)
}
