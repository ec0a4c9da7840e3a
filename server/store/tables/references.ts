/** Which sites, and which owners, reference which contents; `BlobQueries` changes the references. */
export interface ReferenceQueries {
  /**
   * The contents among these that another site of the owner references. Exact within a write that has just added or
   * removed references of the site to them: their rows are locked until the commit.
   */
  heldBeside(slug: string, ownerId: string, hashes: readonly string[]): Promise<Set<string>>

  /**
   * Bytes of the contents that a site references, and of those among them that no other site of the owner references;
   * with `<` no other one whose slug is less, so that the sum over all sites of the owner has each content once.
   */
  sum(slug: string, ownerId: string | null, order?: '<>' | '<'): Promise<{ bytes: number; own: number }>

  /** Records the owner of a site with its references, which stay locked until the commit. */
  setOwner(slug: string, ownerId: string): Promise<void>
}
