/** A site. It is never removed, so that its slug is never reused; a deleted one has no versions. */
export interface Site {
  slug: string
  /** Null while it is anonymous. */
  ownerId: string | null
  claimTokenHash: string | null
  liveVersionId: string | null
  previousVersionId: string | null
  liveSince: number | null
  title: string | null
  description: string | null
  ogImagePath: string | null
  spaMode: boolean
  passwordHash: string | null
  createdAt: number
  updatedAt: number
  expiresAt: number | null
  deletedAt: number | null
  deletionReason: 'deleted' | 'expired' | 'abandoned' | null
}

/** The end of a page of a listing. */
export interface SiteCursor {
  createdAt: number
  slug: string
}

export interface OwnerPage {
  limit: number
  after?: SiteCursor | undefined
  /** Words that all occur in the slug or in the title. */
  words?: readonly string[] | undefined
}

export interface SiteQueries {
  /** Also finds deleted sites: their slugs are retired forever. */
  bySlug(slug: string): Promise<Site | undefined>

  /** Rejects when the slug was ever used. */
  insert(site: Site): Promise<void>

  /** Properties that are absent stay; an absent site stays absent. */
  update(slug: string, change: Partial<Omit<Site, 'slug'>>): Promise<void>

  /** An account's sites after the cursor, newest first, then by slug downwards. Case matters only beyond ASCII. */
  byOwner(ownerId: string, page: OwnerPage): Promise<Site[]>

  /** Number of sites of an account and bytes of their live versions. */
  usage(ownerId: string): Promise<{ sites: number; totalBytes: number }>

  /** Sites that have expired but are not deleted yet, the longest expired first. */
  expired(now: number, limit: number): Promise<Site[]>

  /** Sites created before `before` without a finalized version and without a newer pending one, the oldest first. */
  abandoned(before: number, limit: number): Promise<Site[]>

  isAbandoned(slug: string, before: number): Promise<boolean>
}
