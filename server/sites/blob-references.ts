import type { StoredFile } from '../../protocol/manifest/manifest.ts'
import type { WriteTransaction } from '../store/store.ts'

/**
 * Sets the references of a site to exactly what its versions need: the blobs of their manifests and received
 * files, and the encodings of their injected documents.
 */
export async function updateReferences(tx: WriteTransaction, slug: string, now: number): Promise<void> {
  const needed = new Set(await tx.versions.arrivedHashes(slug))
  for (const { files, front } of await tx.versions.manifestsOf(slug)) {
    for (const file of JSON.parse(files) as StoredFile[]) if (file.hash) needed.add(file.hash)
    if (front !== null) needed.add((JSON.parse(front) as { hash: string }).hash)
  }
  const unneeded = (await tx.blobReferences.hashesOf(slug)).filter((hash) => !needed.has(hash))
  if (unneeded.length > 0) await tx.blobReferences.removeReferences(slug, unneeded, now)
}
