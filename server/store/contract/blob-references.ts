/**
 * References from sites to blobs of finalized versions, and blobs marked for deletion because nothing referenced
 * them. All changes are idempotent. References of pending versions are their received files.
 */
export interface BlobReferenceQueries {
  addReferences(slug: string, hashes: Iterable<string>): Promise<void>

  /** The blobs that a site references, in no order. */
  listHashes(slug: string): Promise<string[]>

  /**
   * Removes references of a site; blobs without references are marked for deletion with a new grace period.
   */
  removeReferences(slug: string, hashes: readonly string[], now: number): Promise<void>

  /** The hashes among these that no site references and no pending version has received, in their order. */
  findUnreferenced(hashes: readonly string[]): Promise<string[]>

  /** Marks blobs for deletion at `now`; an earlier mark stays. Returns how many were marked. */
  markForDeletion(hashes: readonly string[], now: number): Promise<number>

  /** Blobs marked at `before` or earlier, the oldest first. */
  markedForDeletion(before: number, limit: number): Promise<string[]>

  unmark(hashes: readonly string[]): Promise<void>

  /** Number of referenced blobs. */
  count(): Promise<number>
}
