import type { Queries } from '../store/queries.ts'
import type { WriteTransaction } from '../store/store.ts'
import type { Site } from '../store/tables/sites.ts'
import { sumUploads } from '../store/tables/versions.ts'

/** The bytes of contents that a site has just begun to reference, without those that another site of its owner has. */
export async function countNewBytes(
  tx: WriteTransaction,
  { slug, ownerId }: Pick<Site, 'slug' | 'ownerId'>,
  contents: readonly { hash: string; size: number }[],
): Promise<number> {
  return sumOwn(tx, { slug, ownerId }, new Map(contents.map(({ hash, size }) => [hash, size])))
}

/** Removes references to those blobs that no version of the site needs any more. Returns them. */
export async function releaseBlobs(
  tx: WriteTransaction,
  slug: string,
  { hashes, now }: { hashes: readonly string[]; now: number },
): Promise<{ hash: string; size: number }[]> {
  const needed = await tx.versions.neededAmong(slug, hashes)
  const unneeded = new Set(hashes.filter((hash) => !needed.has(hash)))
  return unneeded.size > 0 ? tx.blobs.removeReferences(slug, [...unneeded], now) : []
}

/**
 * Removes versions and releases their blobs. Returns the bytes that the holder no longer has, which the caller
 * releases. Injected documents do not count.
 */
export async function removeVersions(
  tx: WriteTransaction,
  { slug, ownerId }: Pick<Site, 'slug' | 'ownerId'>,
  { ids, now }: { ids: readonly string[]; now: number },
): Promise<number> {
  const counted = new Set<string>()
  const documents: string[] = []
  let versionBytes = 0
  for (const id of ids) {
    const { hashes, injectedDocumentHash, uploadBytes, recordBytes } = await tx.versions.remove(id)
    for (const hash of hashes) counted.add(hash)
    if (injectedDocumentHash !== null) documents.push(injectedDocumentHash)
    versionBytes += uploadBytes + (ownerId === null ? recordBytes : 0)
  }
  const released = await releaseBlobs(tx, slug, { hashes: [...new Set([...counted, ...documents])], now })
  const contents = released.filter(({ hash }) => counted.has(hash))
  return (
    versionBytes +
    (await sumOwn(tx, { slug, ownerId }, new Map(contents.map(({ hash, size }) => [hash, size]))))
  )
}

/**
 * The manifest and the rules count for a network without an account, which could otherwise store any number of long
 * manifests of short files. Nothing for an account.
 */
export async function countRecord(
  { versions }: Queries,
  { ownerId }: Pick<Site, 'ownerId'>,
  id: string,
): Promise<number> {
  return ownerId === null ? versions.recordBytes(id) : 0
}

/** What versions count beside their contents: uploads that are not finalized, and `countRecord`. */
export async function sumVersions(
  queries: Queries,
  { slug, ownerId }: Pick<Site, 'slug' | 'ownerId'>,
): Promise<number> {
  const { versions } = queries
  let sum = 0
  for (const { id, state } of await versions.bySlug(slug)) {
    if (state === 'pending') sum += sumUploads(state, (await versions.findFiles(id)) ?? [])
    sum += await countRecord(queries, { ownerId }, id)
  }
  return sum
}

async function sumOwn(
  tx: WriteTransaction,
  { slug, ownerId }: Pick<Site, 'slug' | 'ownerId'>,
  sizes: ReadonlyMap<string, number>,
): Promise<number> {
  const hashes = [...sizes.keys()]
  const others =
    ownerId === null || hashes.length === 0
      ? undefined
      : await tx.references.heldBeside(slug, ownerId, hashes)
  return hashes.reduce((sum, hash) => (others?.has(hash) ? sum : sum + sizes.get(hash)!), 0)
}
