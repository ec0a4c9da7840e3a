import type { WriteTransaction } from '../store/store.ts'

/**
 * Sets the references of a site to exactly what its versions need: the blobs of their manifests and received
 * files, and the encodings of their injected documents.
 */
export async function updateReferences(tx: WriteTransaction, slug: string, now: number): Promise<void> {
  const needed = await tx.versions.neededHashes(slug)
  const unneeded = (await tx.blobReferences.listHashes(slug)).filter((hash) => !needed.has(hash))
  if (unneeded.length > 0) await tx.blobReferences.removeReferences(slug, unneeded, now)
}
