import type { WriteTransaction } from '../store/store.ts'

/** Removes the references of a site to those of these blobs that none of its versions needs any more. */
export async function releaseBlobs(
  tx: WriteTransaction,
  slug: string,
  { hashes, now }: { hashes: readonly string[]; now: number },
): Promise<void> {
  const needed = await tx.versions.neededAmong(slug, hashes)
  const unneeded = new Set(hashes.filter((hash) => !needed.has(hash)))
  if (unneeded.size > 0) await tx.blobs.removeReferences(slug, [...unneeded], now)
}

/** Removes versions of a site and releases their blobs. */
export async function removeVersions(
  tx: WriteTransaction,
  slug: string,
  { ids, now }: { ids: readonly string[]; now: number },
): Promise<void> {
  const hashes: string[] = []
  for (const id of ids) hashes.push(...(await tx.versions.remove(id)))
  await releaseBlobs(tx, slug, { hashes, now })
}
